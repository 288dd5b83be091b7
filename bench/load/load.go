//go:build linux

// Package load drives a Caddy with requests, and measures how long they take.
package load

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A Client has several connections to one Caddy. A connection sends its next request when the response
// to the last one is complete. The client must not limit the rate. So it is one thread that waits with
// epoll, and it parses no more of a response than necessary.
type Client struct {
	epoll int
	conns map[int32]*conn // by file descriptor
}

type conn struct {
	fd  int
	due time.Duration // the instant from which the request counts, since the start of the load
	n   int           // number of bytes of the response in buf
	buf [8 << 10]byte
}

// patience is the longest time that a client waits for a response.
const patience = 5 * time.Second

// Dial opens n connections to a port on the loopback interface.
func Dial(port, n int) (*Client, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	c := &Client{epoll: epoll, conns: map[int32]*conn{}}
	for range n {
		if err := c.open(port); err != nil {
			c.Close()
			return nil, fmt.Errorf("connecting to port %d: %w", port, err)
		}
	}
	return c, nil
}

func (c *Client) open(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.conns[int32(fd)] = &conn{fd: fd}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	return c.watch(fd)
}

// watch makes wait return fd when it can be read.
func (c *Client) watch(fd int) error {
	return unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// wait waits until some descriptors can be read, and returns them.
func (c *Client) wait(events []unix.EpollEvent) ([]unix.EpollEvent, error) {
	for {
		ready, err := unix.EpollWait(c.epoll, events, int(patience.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case ready == 0:
			return nil, fmt.Errorf("no response for %v", patience)
		default:
			return events[:ready], nil
		}
	}
}

func (c *Client) Close() {
	for _, k := range c.conns {
		unix.Close(k.fd)
	}
	unix.Close(c.epoll)
}

// A Load is the number of requests that a client sends, and their pace.
type Load struct {
	Requests int           // total number; 0 if there is no limit
	Duration time.Duration // no request is sent after it; 0 if there is no end

	// Every is the time between two requests of a steady load. If it is 0, each connection sends a
	// request as soon as it has the response to the last one.
	Every time.Duration
}

// Steady returns a load of requests that are due at regular intervals.
func Steady(every, duration time.Duration) Load {
	return Load{Requests: int(duration / every), Every: every}
}

// Send sends the requests of a load in turn, and waits for all responses. It returns the duration of
// each request, and the duration of the whole load. It returns an error if a response has another
// status than want.
//
// In a steady load, a request counts from the instant at which it is due, even if all connections are
// busy then: users do not wait for each other's requests. In other loads, a request counts from the
// instant at which it is sent.
func (c *Client) Send(r *Requests, l Load, want int) (latencies []time.Duration, took time.Duration, err error) {
	start, sent := time.Now(), 0
	end := patience + time.Duration(l.Requests)*l.Every // of a steady load, since start
	latencies = make([]time.Duration, 0, l.Requests)
	idle := make([]*conn, 0, len(c.conns)+l.Requests) // the connection that is idle longest comes first
	for _, k := range c.conns {
		idle = append(idle, k)
	}
	timer := -1
	if l.Every > 0 {
		if timer, err = c.ticks(l.Every); err != nil {
			return nil, 0, fmt.Errorf("setting a timer: %w", err)
		}
		defer unix.Close(timer)
	}
	more := func(now time.Duration) bool {
		return (l.Requests == 0 || sent < l.Requests) && (l.Duration == 0 || now < l.Duration)
	}
	// sendDue sends the requests that are due at now, as long as there are idle connections.
	sendDue := func(now time.Duration) error {
		for len(idle) > 0 && more(now) {
			k := idle[0]
			if k.due = now; l.Every > 0 {
				k.due = time.Duration(sent+1) * l.Every // the timer ticks then or shortly after
			}
			if k.due > now {
				return nil
			}
			if err := k.request(r.take()); err != nil {
				return err
			}
			idle = idle[1:]
			sent++
		}
		return nil
	}
	if err := sendDue(0); err != nil {
		return nil, 0, err
	}
	events, wanted := make([]unix.EpollEvent, len(c.conns)+1), strconv.Itoa(want)
	for len(latencies) < max(sent, l.Requests) {
		ready, err := c.wait(events)
		if err != nil {
			return nil, 0, err
		}
		now := time.Since(start)
		if l.Every > 0 && now > end {
			return nil, 0, fmt.Errorf("%d of %d requests have no response %v after the last was due",
				l.Requests-len(latencies), l.Requests, patience)
		}
		for _, e := range ready {
			if int(e.Fd) == timer {
				var ticks [8]byte // number of ticks since the last read
				_, _ = unix.Read(timer, ticks[:])
			} else {
				k := c.conns[e.Fd]
				complete, err := k.read(wanted)
				if err != nil {
					return nil, 0, err
				}
				if complete {
					latencies = append(latencies, now-k.due)
					idle = append(idle, k)
				}
			}
			if err := sendDue(now); err != nil {
				return nil, 0, err
			}
		}
	}
	return latencies, time.Since(start), nil
}

// ticks returns a timer for which wait also waits. It is a timer of the kernel, because epoll itself
// waits for whole milliseconds.
func (c *Client) ticks(every time.Duration) (fd int, err error) {
	fd, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return 0, err
	}
	step := unix.NsecToTimespec(int64(every))
	if err = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: step, Value: step}, nil); err == nil {
		err = c.watch(fd)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// request sends a request. The request fits into the buffer of the socket, so one write sends all of
// it.
func (k *conn) request(text []byte) error {
	k.n = 0
	n, err := unix.Write(k.fd, text)
	if err == nil && n < len(text) {
		err = errors.New("short write")
	}
	return err
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
)

// read reads more of a response, and reports whether the response is complete. It returns an error if
// the status is another one than wanted, which has three digits.
func (k *conn) read(wanted string) (complete bool, err error) {
	n, err := unix.Read(k.fd, k.buf[k.n:])
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
	if status := got[9:12]; string(status) != wanted { // the header begins like HTTP/1.1 200
		return false, fmt.Errorf("a response with status %s, want %s:\n%s", status, wanted, got)
	}
	return true, nil
}

// Requests are sent in turn, and again from the first one. They are made before anything is measured.
type Requests struct {
	texts [][]byte
	next  int
}

// take returns the next request.
func (r *Requests) take() []byte {
	text := r.texts[r.next%len(r.texts)]
	r.next++
	return text
}

// Key returns the API key of request i of Distinct.
func Key(i int) string { return fmt.Sprintf("sk_live_%024d", i) }

// Distinct returns n requests in random order. Each has another API key and another tenant.
func Distinct(n int) *Requests {
	r := new(Requests)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		r.add(Key(i), fmt.Sprintf("tenant-%08d", i))
	}
	return r
}

// Same returns one request, which a client repeats.
func Same() *Requests {
	r := new(Requests)
	r.add("sk_live_exhausted", "tenant-0")
	return r
}

func (r *Requests) add(key, tenant string) {
	r.texts = append(r.texts, fmt.Appendf(nil,
		"GET /v1/items HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: %s\r\nX-Tenant: %s\r\n\r\n", key, tenant))
}
