package redistest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

const host = "127.0.0.1"

// Ports come from below the range that systems use for outgoing connections, which begins at 32768
// on Linux. So nothing takes the port of a server while that is down. Each process has a block of
// ports to itself: it listens on the first one for as long as it lives.
const (
	firstPort     = 20000
	portsPerBlock = 500
	portBlocks    = 24
)

// block is the first port of this process's block, 0 if all blocks are taken. The listener is kept
// so that it is not closed.
var block, blockListener = claimBlock()

// lastTried counts up, so that this process gets no port twice until it has tried them all.
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

// FreeAddr returns a loopback address that nothing listens on. Nothing else in this process gets
// it, and no outgoing connection takes its port. FreeAddr panics when all ports are taken.
func FreeAddr() string {
	port, err := freePort()
	if err != nil {
		panic(err)
	}
	return address(port)
}

func freePort() (int, error) {
	if blockListener == nil {
		return 0, fmt.Errorf("redistest: %d other processes hold all ports: end what listens from %d", portBlocks, firstPort)
	}
	for range portsPerBlock {
		port := block + 1 + int(lastTried.Add(1)%(portsPerBlock-1))
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("redistest: ports %d to %d are taken: end what listens there", block, block+portsPerBlock-1)
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
