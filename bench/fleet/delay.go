package main

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A delayLine is proxies that delay everything by the same time, in both directions, and keep its
// order. One goroutine sends everything: what comes first is due first.
type delayLine struct {
	delay   time.Duration
	packets chan packet

	carriers  sync.WaitGroup // and who waits for connections
	listeners []net.Listener
}

// A packet is what was read at once, on its way.
type packet struct {
	due  time.Time
	to   net.Conn
	data []byte // nil: the end
}

// room is how many packets are under way at most: more than a fleet sends within a delay.
const room = 1 << 14

func newDelayLine(delay time.Duration) *delayLine {
	d := &delayLine{delay: delay, packets: make(chan packet, room)}
	go d.run()
	return d
}

// listen returns a loopback address from which connections go to another one.
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

// connect joins a connection with one to addr.
func (d *delayLine) connect(near net.Conn, addr string) {
	far, err := net.Dial("tcp", addr)
	if err != nil {
		_ = near.Close()
		return
	}
	d.carriers.Go(func() { d.carry(near, far) })
	d.carry(far, near)
}

// carry puts what comes from one connection on the line to another, until it ends.
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

// run sends packets when they are due. It sleeps on a thread of its own, by the kernel's clock:
// Go's timers are exact to a millisecond only.
func (d *delayLine) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for p := range d.packets {
		if wait := time.Until(p.due); wait > 0 {
			timeout := unix.NsecToTimeval(int64(wait))
			_, _ = unix.Select(0, nil, nil, nil, &timeout) // a signal ends it early: a packet goes a moment too soon
		}
		if p.data == nil {
			_ = p.to.Close() // and so the other direction ends too
			continue
		}
		_, _ = p.to.Write(p.data) // an error shows in the other direction
	}
}

// close ends the proxies. The line ends with the last of its connections, which their owners close.
func (d *delayLine) close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
	go func() {
		d.carriers.Wait()
		close(d.packets)
	}()
}
