// Package held tests for how long requests hold their places if their clients are slow or silent. Its tests
// last longer than a client may stall, and run at the same time.
package held

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }

// options are the options of a node that speaks HTTP/2 without TLS, too: they end the block of rate_limit,
// and begin another block.
const options = "defaults {\n\theaders all\n}\n}\nservers {\n\tprotocols h1 h2c"

// nodeBefore starts a node with a zone z before an upstream.
func nodeBefore(t *testing.T, zone string, upstream http.HandlerFunc) *nodetest.Node {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return nodetest.Start(t, options, "route {\nrate_limit {\nzone z {\n"+zone+"\n}\n}\nreverse_proxy "+server.Listener.Addr().String()+"\n}")
}

// opened returns a connection on which text was sent. It is closed when the test ends.
func opened(t *testing.T, n *nodetest.Node, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", n.Addr)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
