//go:build linux

package main

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// A pace is a steady load.
type pace struct {
	every    time.Duration // from one request to the next
	duration time.Duration
}

// pace sends requests when they are due, however long the answers to others take, and returns how long each took from
// the instant it was due: also when all connections were busy then, as a client does not know of the others that it waits
// for. A response with another status than want is an error.
func (c *client) pace(r *requests, p pace, want int) (latencies []time.Duration, err error) {
	start := time.Now()
	timer, err := c.ticks(p.every)
	if err != nil {
		return nil, fmt.Errorf("setting a timer: %w", err)
	}
	defer syscall.Close(timer)

	total := int(p.duration / p.every)
	latencies = make([]time.Duration, 0, total)
	free := make([]*conn, 0, len(c.conns)+total) // in the order in which they became so
	for _, k := range c.conns {
		free = append(free, k)
	}
	events := make([]syscall.EpollEvent, len(c.conns)+1)
	wanted := strconv.Itoa(want)
	for sent := 0; len(latencies) < total; {
		ready, err := c.wait(events)
		if err != nil {
			return nil, err
		}
		now := time.Since(start)
		for _, e := range ready {
			if int(e.Fd) == timer {
				var ticks [8]byte // since it was read last; what is due, the clock says
				_, _ = syscall.Read(timer, ticks[:])
				continue
			}
			k := c.conns[e.Fd]
			answered, err := k.read(wanted)
			if err != nil {
				return nil, err
			}
			if answered {
				latencies = append(latencies, now-k.due)
				free = append(free, k)
			}
		}
		for sent < total && len(free) > 0 {
			due := time.Duration(sent+1) * p.every // at a tick of the timer, which was started after start
			if due > now {
				break
			}
			free[0].due = due
			if err := free[0].request(r.take()); err != nil {
				return nil, err
			}
			free = free[1:]
			sent++
		}
		if now > p.duration+patience {
			return nil, fmt.Errorf("only %d of %d requests have been answered %v after the last was due", len(latencies), total, patience)
		}
	}
	return latencies, nil
}

// ticks returns a timer that c waits for too, by the kernel's clock: epoll itself waits for whole milliseconds.
func (c *client) ticks(every time.Duration) (fd int, err error) {
	const monotonic = 1 // the clock
	timer, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return 0, errno
	}
	fd = int(timer)
	step := syscall.NsecToTimespec(int64(every))
	spec := [2]syscall.Timespec{step, step} // between two ticks, and until the first
	_, _, errno = syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, timer, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return 0, errors.Join(errno, syscall.Close(fd))
	}
	if err := c.watch(fd); err != nil {
		return 0, errors.Join(err, syscall.Close(fd))
	}
	return fd, nil
}
