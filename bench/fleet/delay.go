package main

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A delayLine is a set of proxies that delay all packets by an equal time, in both directions. One
// goroutine sends all packets, so their order is kept.
type delayLine struct {
	delay   time.Duration
	packets chan packet

	carriers  sync.WaitGroup // all goroutines except run
	listeners []net.Listener
}

// A packet is the data of one read.
type packet struct {
	due  time.Time
	to   net.Conn
	data []byte // nil at the end of the connection
}

// room is the highest number of packets on the line. A fleet sends fewer packets within the delay.
const room = 1 << 14

func newDelayLine(delay time.Duration) *delayLine {
	d := &delayLine{delay: delay, packets: make(chan packet, room)}
	go d.run()
	return d
}

// listen returns an address on the loopback interface whose connections lead to another address.
func (d *delayLine) listen(to string) (addr string, err error) {
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "", err
	}
	d.listeners = append(d.listeners, l)
	d.carriers.Go(func() {
		for {
			near, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				d.carriers.Go(func() { d.connect(near, to) })
			}
		}
	})
	return l.Addr().String(), nil
}

// connect dials addr, and joins near to the new connection.
func (d *delayLine) connect(near net.Conn, addr string) {
	far, err := net.Dial("tcp", addr)
	if err != nil {
		_ = near.Close()
		return
	}
	d.carriers.Go(func() { d.carry(near, far) })
	d.carry(far, near)
}

// carry puts the data that it reads from one connection on the line, for the other connection. It
// returns at the end of the connection.
func (d *delayLine) carry(from, to net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			d.packets <- packet{time.Now().Add(d.delay), to, append([]byte(nil), buffer[:n]...)}
		}
		if err != nil {
			d.packets <- packet{time.Now().Add(d.delay), to, nil}
			return
		}
	}
}

// run sends each packet when it is due. It sleeps in the kernel, on a thread of its own, because Go's
// timers are exact only to a millisecond.
func (d *delayLine) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for p := range d.packets {
		if wait := time.Until(p.due); wait > 0 {
			timeout := unix.NsecToTimeval(int64(wait))
			_, _ = unix.Select(0, nil, nil, nil, &timeout) // a signal ends the sleep early, which is harmless
		}
		if p.data == nil {
			_ = p.to.Close() // this also ends the other direction
			continue
		}
		_, _ = p.to.Write(p.data) // the other direction notices the error, too
	}
}

// close closes the listeners. The line ends when its last connection ends. The owners of the
// connections close them.
func (d *delayLine) close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
	go func() {
		d.carriers.Wait()
		close(d.packets)
	}()
}
