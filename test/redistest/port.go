package redistest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

const host = "127.0.0.1"

// Ports are below the range that systems use for outgoing connections, which begins at 32768 on Linux. So
// nothing takes the port of a server that is down. Each process has its own block of ports, and listens on
// the first port of its block as long as it lives.
const (
	firstPort     = 20000
	portsPerBlock = 500
	portBlocks    = 24
)

// block is the first port of this process's block, 0 if all blocks are taken. blockListener is kept so that
// it is not closed.
var block, blockListener = claimBlock()

// lastTried only grows, so that this process gets no port twice before it has tried all ports.
var lastTried atomic.Int64

func claimBlock() (first int, l net.Listener) {
	for i := range portBlocks {
		first := firstPort + (os.Getpid()+i)%portBlocks*portsPerBlock
		if l, err := net.Listen("tcp", address(first)); err == nil {
			return first, l
		}
	}
	return 0, nil
}

// FreeAddr returns a loopback address with a free port. It does not return the address again, and no outgoing
// connection takes the port. FreeAddr panics if all ports are taken.
func FreeAddr() string { return address(FreePort()) }

// FreePort returns the port of FreeAddr.
func FreePort() int {
	port, err := freePort()
	if err != nil {
		panic(err)
	}
	return port
}

// Port returns the port of an address.
func Port(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func freePort() (int, error) {
	if blockListener == nil {
		return 0, fmt.Errorf("redistest: %d other processes have all blocks of ports: use fewer test processes", portBlocks)
	}
	// A process that is forked while the listener is open would keep the port until it runs its program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for range portsPerBlock {
		port := block + 1 + int(lastTried.Add(1)%(portsPerBlock-1))
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("redistest: ports %d to %d are taken: use fewer listeners", block, block+portsPerBlock-1)
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
