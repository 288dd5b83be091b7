//go:build !linux

// Command gateway measures what the rate_limit handler costs Caddy. It needs Linux.
package main

import "log"

func main() {
	log.Fatal("gateway: it needs Linux, for /proc and epoll: use a container")
}
