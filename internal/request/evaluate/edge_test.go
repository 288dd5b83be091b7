package evaluate

import (
	"fmt"
	"net/netip"
	"testing"
)

// A public address that forwards for several clients is an edge. An address that repeats one client is not,
// and many addresses that name one client each do not make any of them an edge.
func TestIsEdge(t *testing.T) {
	var e edges
	edge, client := netip.MustParseAddr("173.245.48.5"), netip.MustParseAddr("198.51.100.1")
	for i := range 20 {
		if got, want := e.isEdge(edge, fmt.Sprintf("203.0.113.%d", i)), i >= clientsOfEdge-1; got != want {
			t.Errorf("client %d of the edge: %v, want %v", i, got, want)
		}
		if e.isEdge(client, "203.0.113.1") {
			t.Errorf("request %d of a client makes it an edge", i)
		}
	}
	for i := range 10 * mostEdges {
		if e.isEdge(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), "203.0.113.1") {
			t.Errorf("address %d is an edge", i)
		}
		if len(e.clients) > mostEdges {
			t.Fatalf("%d addresses are remembered, want %d at most", len(e.clients), mostEdges)
		}
	}
}
