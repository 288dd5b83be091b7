//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// A client keeps a number of connections to one Caddy busy: each sends its next request when the response to the last
// one is complete. It is one thread that waits with epoll and looks at no more of a response than it has to, because
// it must not be what limits the rate.
type client struct {
	epoll int
	conns map[int32]*conn // by file descriptor
}

type conn struct {
	fd  int
	due time.Duration // when the request was, since the load began; only of a pace
	n   int           // bytes of the response in buf
	buf [8 << 10]byte
}

// patience is how long a client waits for a response.
const patience = 5 * time.Second

// dial opens n connections to a port on the loopback interface.
func dial(port, n int) (*client, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	c := &client{epoll: epoll, conns: map[int32]*conn{}}
	for range n {
		if err := c.open(port); err != nil {
			c.close()
			return nil, fmt.Errorf("connecting to port %d: %w", port, err)
		}
	}
	return c, nil
}

func (c *client) open(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.conns[int32(fd)] = &conn{fd: fd}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		return err
	}
	return c.watch(fd)
}

// watch has wait return when fd can be read.
func (c *client) watch(fd int) error {
	return syscall.EpollCtl(c.epoll, syscall.EPOLL_CTL_ADD, fd,
		&syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
}

// wait returns what can be read, once there is something.
func (c *client) wait(events []syscall.EpollEvent) ([]syscall.EpollEvent, error) {
	for {
		ready, err := syscall.EpollWait(c.epoll, events, int(patience.Milliseconds()))
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return nil, err
		case ready == 0:
			return nil, fmt.Errorf("no response for %v", patience)
		default:
			return events[:ready], nil
		}
	}
}

func (c *client) close() {
	for _, k := range c.conns {
		syscall.Close(k.fd)
	}
	syscall.Close(c.epoll)
}

// load says when a client stops: after a number of requests, or a time, whichever is set.
type load struct {
	requests int
	duration time.Duration
}

// send sends requests until l says stop, and then waits for the last responses. It returns how many responses it got in
// which time; a response with another status than want is an error.
func (c *client) send(r *requests, l load, want int) (n int, took time.Duration, err error) {
	start := time.Now()
	sent := 0
	more := func() bool { return l.requests == 0 || sent < l.requests }
	for _, k := range c.conns {
		if more() {
			if err := k.request(r.take()); err != nil {
				return 0, 0, err
			}
			sent++
		}
	}

	wanted := strconv.Itoa(want)
	events := make([]syscall.EpollEvent, len(c.conns))
	for n < sent {
		ready, err := c.wait(events)
		if err != nil {
			return 0, 0, err
		}
		over := l.duration > 0 && time.Since(start) >= l.duration
		for _, e := range ready {
			k := c.conns[e.Fd]
			answered, err := k.read(wanted)
			if err != nil {
				return 0, 0, err
			}
			if !answered {
				continue
			}
			n++
			if !over && more() {
				if err := k.request(r.take()); err != nil {
					return 0, 0, err
				}
				sent++
			}
		}
	}
	return n, time.Since(start), nil
}

// request starts a request. It fits the socket's buffer, so it is written at once.
func (k *conn) request(text []byte) error {
	k.n = 0
	n, err := syscall.Write(k.fd, text)
	if err == nil && n < len(text) {
		err = errors.New("short write")
	}
	return err
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
)

// read reads what has arrived of a response, and reports whether it is complete. Another status than the wanted one, three
// digits, is an error.
func (k *conn) read(wanted string) (complete bool, err error) {
	n, err := syscall.Read(k.fd, k.buf[k.n:])
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, fmt.Errorf("connection closed after %q", k.buf[:k.n])
	}
	k.n += n

	got := k.buf[:k.n]
	header := bytes.Index(got, endOfHeader)
	if header < 0 {
		return false, nil
	}
	at := bytes.Index(got[:header+2], contentLength)
	if at < 0 {
		return false, fmt.Errorf("a response without Content-Length: %q", got)
	}
	length := 0
	for _, digit := range got[at+len(contentLength):] {
		if digit < '0' || digit > '9' {
			break
		}
		length = 10*length + int(digit-'0')
	}
	if k.n < header+len(endOfHeader)+length {
		return false, nil
	}
	if status := got[9:12]; string(status) != wanted { // HTTP/1.1 200
		return false, fmt.Errorf("a response with status %s, want %s:\n%s", status, wanted, got)
	}
	return true, nil
}
