//go:build !linux

// Command gateway measures what the rate_limit handler costs Caddy. It needs Linux.
package main

import "log"

func main() {
	log.Fatal("gateway: it reads /proc and waits with epoll, so it needs Linux: run it in a container")
}
