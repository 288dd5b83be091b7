package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Servers get ports from firstPort to lastPort. That is below what systems give to outgoing connections and to
// listeners that do not mind (32768 and up on Linux, 49152 and up elsewhere): nobody comes to sit on the port of a
// server while that is down.
const (
	firstPort = 20000
	lastPort  = 31999
)

var ports = struct {
	mu   sync.Mutex
	held map[int]bool // given out in this process, and not released
}{held: map[int]bool{}}

// FreePort returns a loopback port for an option such as tls-port. The port is nobody else's until the test ends.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := holdPort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { releasePort(port) })
	return port
}

// holdPort returns a port that is free on this machine, and that no other call returns until it is released. Another
// process may still take it before a server does.
func holdPort() (int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if ports.held[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_ = l.Close()
		ports.held[port] = true
		return port, nil
	}
	return 0, errors.New("redistest: 1000 random ports between 20000 and 31999 are all taken")
}

func releasePort(port int) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	delete(ports.held, port)
}
