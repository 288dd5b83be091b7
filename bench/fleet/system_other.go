//go:build !linux

package main

import (
	"errors"
	"time"
)

func sleep(d time.Duration) { time.Sleep(d) }

func resident() (int64, error) {
	return 0, errors.New("resident memory is read from /proc, which only Linux has")
}

// processorTime is not measured.
func processorTime() time.Duration { return 0 }
