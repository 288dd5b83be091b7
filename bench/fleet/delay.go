package main

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A delayLine is a set of proxies that delay all traffic by the same time, in both directions. One
// goroutine sends all packets, so they keep their order.
type delayLine struct {
	delay   time.Duration
	packets chan packet

	carriers  sync.WaitGroup // all other goroutines
	listeners []net.Listener
}

// A packet is the result of one read.
type packet struct {
	due  time.Time
	to   net.Conn
	data []byte // nil: the end of the connection
}

// room is the most packets on the line: more than a fleet sends within a delay.
const room = 1 << 14

func newDelayLine(delay time.Duration) *delayLine {
	d := &delayLine{delay: delay, packets: make(chan packet, room)}
	go d.run()
	return d
}

// listen returns a loopback address whose connections lead to another one.
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

// connect joins a connection to a new one to addr.
func (d *delayLine) connect(near net.Conn, addr string) {
	far, err := net.Dial("tcp", addr)
	if err != nil {
		_ = near.Close()
		return
	}
	d.carriers.Go(func() { d.carry(near, far) })
	d.carry(far, near)
}

// carry puts what it reads from one connection on the line to the other, until the end.
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

// run sends packets when they are due. It sleeps in the kernel, on its own thread, because Go's
// timers are exact only to a millisecond.
func (d *delayLine) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for p := range d.packets {
		if wait := time.Until(p.due); wait > 0 {
			timeout := unix.NsecToTimeval(int64(wait))
			_, _ = unix.Select(0, nil, nil, nil, &timeout) // a signal ends it early, which is harmless
		}
		if p.data == nil {
			_ = p.to.Close() // ends the other direction too
			continue
		}
		_, _ = p.to.Write(p.data) // the other direction sees the error
	}
}

// close closes the listeners. The line ends with its last connection; their owners close them.
func (d *delayLine) close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
	go func() {
		d.carriers.Wait()
		close(d.packets)
	}()
}
