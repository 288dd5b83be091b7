package evaluate

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// The bounds of what is remembered of public addresses that may be those of a CDN.
const (
	mostEdges     = 64
	clientsOfEdge = 3 // an address that has forwarded for this many clients is an edge
)

// edges finds the public addresses from which a CDN forwards requests. A client can send its headers
// too, but has no reason to name several others.
type edges struct {
	mu      sync.Mutex
	clients map[netip.Addr][]string // what each address has named so far
}

// isEdge notes that a public address has forwarded a request of a client, and reports whether it has
// done so for several.
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

// edgeHeader returns the header in which a CDN names its client, "" if there is none. Any proxy may
// send X-Forwarded-For and Forwarded, also one of an office, whose clients are rightly counted as one.
func edgeHeader(h http.Header) string {
	for _, name := range forwardingHeaders[2:] {
		if _, found := h[name]; found {
			return name
		}
	}
	return ""
}
