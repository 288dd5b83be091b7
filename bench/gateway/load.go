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
	n   int // bytes of the response in buf
	buf [8 << 10]byte
}

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
	return syscall.EpollCtl(c.epoll, syscall.EPOLL_CTL_ADD, fd,
		&syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
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
		ready, err := syscall.EpollWait(c.epoll, events, 5000)
		if errors.Is(err, syscall.EINTR) {
			continue
		} else if err != nil {
			return 0, 0, err
		} else if ready == 0 {
			return 0, 0, errors.New("no response for 5 seconds")
		}
		over := l.duration > 0 && time.Since(start) >= l.duration
		for _, e := range events[:ready] {
			k := c.conns[e.Fd]
			status, err := k.read()
			if err != nil {
				return 0, 0, err
			}
			if status == nil {
				continue // the response goes on
			}
			if string(status) != wanted {
				return 0, 0, fmt.Errorf("response %d is a %s, want %s:\n%s", n, status, wanted, k.buf[:k.n])
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

// read reads what has arrived of a response. It returns the three digits of the status when the response is complete.
func (k *conn) read() (status []byte, err error) {
	n, err := syscall.Read(k.fd, k.buf[k.n:])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("connection closed after %q", k.buf[:k.n])
	}
	k.n += n

	got := k.buf[:k.n]
	header := bytes.Index(got, endOfHeader)
	if header < 0 {
		return nil, nil
	}
	at := bytes.Index(got[:header+2], contentLength)
	if at < 0 {
		return nil, fmt.Errorf("a response without Content-Length: %q", got)
	}
	length := 0
	for _, digit := range got[at+len(contentLength):] {
		if digit < '0' || digit > '9' {
			break
		}
		length = 10*length + int(digit-'0')
	}
	if k.n < header+len(endOfHeader)+length {
		return nil, nil
	}
	return got[9:12], nil // HTTP/1.1 200
}
