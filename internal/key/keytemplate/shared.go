package keytemplate

import (
	"net/netip"
	"slices"
)

// shared are placeholders, and prefixes of their names, whose value says nothing about who sends a
// request: what it asks for, of which server, and when.
var shared = []string{
	"http.request.host", "http.request.local", "http.request.method", "http.request.orig_method",
	"http.request.orig_uri.path", "http.request.port", "http.request.proto", "http.request.scheme",
	"http.request.tls.cipher_suite", "http.request.tls.proto", "http.request.tls.resumed",
	"http.request.tls.server_name", "http.request.tls.version", "http.request.uri.path", "time.",
}

// IsShared reports whether all clients that ask for the same have the same key: the template has no
// placeholder that says who the client is.
func (t *Template) IsShared() bool {
	return !slices.ContainsFunc(t.names, func(name string) bool { return !hasPrefix(name, shared...) && !isHostHeader(name) })
}

// AppendClient appends what stands for a client with an address beside a key of the template: no
// key begins as it does.
func (t *Template) AppendClient(dst []byte, addr netip.Addr) []byte {
	p, _ := addr.Prefix(t.bits(addr)) // which the options bound
	return appendPrefix(append(dst, spaceClient), p)
}
