package redistest

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

const host = "127.0.0.1"

// Ports are below the range that systems use for outgoing connections, which begins at 32768 on
// Linux. So nothing takes the port of a server that is down.
const firstPort, lastPort = 20000, 31999

// lastTried only grows, so that this process gets no port twice. It begins at another port in each
// process, so that two processes rarely try the same one.
var lastTried atomic.Int64

func init() { lastTried.Store(40 * int64(os.Getpid())) }

// FreeAddr returns a loopback address with a free port. It never returns the same one again, and no
// outgoing connection takes the port. FreeAddr panics when all ports are taken.
func FreeAddr() string {
	port, err := freePort()
	if err != nil {
		panic(err)
	}
	return address(port)
}

func freePort() (int, error) {
	for range 1000 {
		port := firstPort + int(lastTried.Add(1)%(lastPort-firstPort+1))
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("redistest: 1000 ports in a row are taken: use a machine with free ports from 20000 to 31999")
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
