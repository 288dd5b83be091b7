package evaluate

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// The bounds of edges.
const (
	mostEdges     = 64 // addresses that are remembered
	clientsOfEdge = 3  // an address that has forwarded for this many clients is an edge
)

// edges finds the public addresses from which a CDN forwards requests. A client can send the headers of a
// CDN, too, but has no reason to name several other clients in them.
type edges struct {
	mu      sync.Mutex
	clients map[netip.Addr][]string // the clients that each address has named so far
}

// isEdge notes that a public address has forwarded a request of a client, and reports whether the address has
// now forwarded for clientsOfEdge clients.
func (e *edges) isEdge(peer netip.Addr, client string) bool {
	if len(client) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255") {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	named := e.clients[peer]
	if len(named) >= clientsOfEdge {
		return true
	}
	if !slices.Contains(named, client) {
		if e.clients == nil || len(e.clients) >= mostEdges && named == nil {
			e.clients = make(map[netip.Addr][]string, mostEdges)
		}
		named = append(named, client)
		e.clients[peer] = named
	}
	return len(named) >= clientsOfEdge
}

// edgeHeader returns the header in which a CDN names its client, "" if there is none. It ignores
// X-Forwarded-For and Forwarded, because any proxy may send these: even one of an office, whose clients are
// rightly counted as one.
func edgeHeader(h http.Header) string {
	for _, name := range forwardingHeaders[2:] {
		if _, found := h[name]; found {
			return name
		}
	}
	return ""
}
