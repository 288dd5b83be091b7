//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// An affinity keeps the processors of Caddy apart from the processor of the load generator.
type affinity struct {
	caddy, load unix.CPUSet
	split       bool // false if both share all processors
}

// pin moves this process to the last of its processors, and leaves n others to Caddy. If n is 0, or if
// there is only one processor, both share all processors.
func pin(n int) (a affinity, err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return a, fmt.Errorf("reading the processors of this process: %w", err)
	}
	if n == 0 || all.Count() < 2 {
		return affinity{caddy: all, load: all}, nil
	}
	var cpus []int
	for cpu := range 64 * len(all) {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	a.split = true
	last := len(cpus) - 1
	a.load.Set(cpus[last])
	for _, cpu := range cpus[:min(n, last)] {
		a.caddy.Set(cpu)
	}
	// A new thread inherits the processors of the thread that starts it.
	threads, err := procfs.AllThreads(os.Getpid())
	if err != nil {
		return a, err
	}
	for _, t := range threads {
		if err := unix.SchedSetaffinity(t.PID, &a.load); err != nil && err != unix.ESRCH {
			return a, fmt.Errorf("moving to one processor: %w", err)
		}
	}
	return a, nil
}

// onCaddysCPUs calls start, which starts a process, on the processors of Caddy.
func (a *affinity) onCaddysCPUs(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &a.caddy); err != nil {
		return err
	}
	err := start()
	if err := unix.SchedSetaffinity(0, &a.load); err != nil {
		return err
	}
	return err
}
