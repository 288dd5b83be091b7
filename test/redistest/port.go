package redistest

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

const host = "127.0.0.1"

// Ports come from below the range that systems use for outgoing connections, which begins at 32768
// on Linux. So nothing takes the port of a server while that is down.
const firstPort, lastPort = 20000, 31999

// lastTried counts up, so that this process gets no port twice. Processes begin apart, so that two
// that start servers at the same time do not meet.
var lastTried atomic.Int64

func init() { lastTried.Store(40 * int64(os.Getpid())) }

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
	for range 1000 {
		port := firstPort + int(lastTried.Add(1)%(lastPort-firstPort+1))
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("redistest: 1000 ports in a row are taken: end what listens from 20000 to 31999")
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
