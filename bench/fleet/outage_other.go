//go:build !linux

package main

import "errors"

func measureOutage(*lab) error {
	return errors.New("it needs Linux, for /proc and epoll: use a container")
}
