package keytemplate

import (
	"net/netip"
	"slices"
)

// shared are names, and prefixes of names, of placeholders that say nothing about the sender of a
// request. They say what the request asks for, of which server, and when.
var shared = []string{
	"http.request.host", "http.request.local", "http.request.method", "http.request.orig_method",
	"http.request.orig_uri.path", "http.request.port", "http.request.proto", "http.request.scheme",
	"http.request.tls.cipher_suite", "http.request.tls.proto", "http.request.tls.resumed",
	"http.request.tls.server_name", "http.request.tls.version", "http.request.uri.path", "time.",
}

// IsShared reports whether no placeholder of the template says who the client is. All clients that send
// equal requests then have one key.
func (t *Template) IsShared() bool {
	return !slices.ContainsFunc(t.names, func(name string) bool { return !hasPrefix(name, shared...) && !isHostHeader(name) })
}

// AppendClient appends a text that stands for the client with the address addr. No key of a template
// begins like this text.
func (t *Template) AppendClient(dst []byte, addr netip.Addr) []byte {
	p, _ := addr.Prefix(t.bits(addr)) // Options bound bits
	return appendPrefix(append(dst, spaceClient), p)
}
