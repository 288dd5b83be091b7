//go:build linux

package main

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// A cpuSet is a set of processors, as a bit each; machines with more than 1024 are not expected.
type cpuSet [16]uint64

func (s *cpuSet) add(cpu int)      { s[cpu/64] |= 1 << (cpu % 64) }
func (s *cpuSet) has(cpu int) bool { return s[cpu/64]&(1<<(cpu%64)) != 0 }

func (s *cpuSet) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// affinity keeps what Caddy runs on apart from what the load generator runs on.
type affinity struct {
	caddy, load cpuSet
	split       bool // false when both share all processors, as on a machine with a single one
}

// pin moves this process to the last processor it may use, and leaves n others for Caddy; for n = 0 both share all.
func pin(n int) (affinity, error) {
	var all cpuSet
	if err := schedule(syscall.SYS_SCHED_GETAFFINITY, 0, &all); err != nil {
		return affinity{}, fmt.Errorf("reading the processors of this process: %w", err)
	}
	a := affinity{caddy: all, load: all}
	if n == 0 || all.len() < 2 {
		return a, nil
	}
	a.split, a.caddy, a.load = true, cpuSet{}, cpuSet{}
	rest := all.len() - 1
	for cpu := range 64 * len(all) {
		switch {
		case !all.has(cpu):
		case rest == 0:
			a.load.add(cpu)
		default:
			rest--
			if a.caddy.len() < n {
				a.caddy.add(cpu)
			}
		}
	}

	// New threads inherit the processors of the one that makes them.
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return a, err
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return a, err
		}
		if err := schedule(syscall.SYS_SCHED_SETAFFINITY, tid, &a.load); err != nil && err != syscall.ESRCH {
			return a, fmt.Errorf("moving to one processor: %w", err)
		}
	}
	return a, nil
}

// onCaddysCPUs calls start, which starts a process, so that the process gets Caddy's processors.
func (a *affinity) onCaddysCPUs(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := schedule(syscall.SYS_SCHED_SETAFFINITY, 0, &a.caddy); err != nil {
		return err
	}
	err := start()
	if err := schedule(syscall.SYS_SCHED_SETAFFINITY, 0, &a.load); err != nil {
		return err
	}
	return err
}

// schedule gets or sets the processors of a thread; 0 is the calling one.
func schedule(trap uintptr, tid int, set *cpuSet) error {
	_, _, errno := syscall.RawSyscall(trap, uintptr(tid), unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	if errno != 0 {
		return errno
	}
	return nil
}
