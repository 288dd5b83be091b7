package evaluate

import (
	"net/netip"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// shareKey returns the key under which the requests at once of the client's address are counted, if the
// address may have only a share of the limit of key. It returns nil if the address may have all of it: the
// limit is low, or only one client has the key.
func (e *Evaluation) shareKey(r *response.Result, key []byte) []byte {
	if r.Policy.Share() == nil {
		return nil
	}
	return e.clientOf(r.Template, key)
}

// clientOf returns a key for one client among those that share a key. It returns nil if no other client has
// the key, or if it is not known that the address is that of one client.
func (e *Evaluation) clientOf(t *keytemplate.Template, key []byte) []byte {
	if t == nil || !t.IsShared() {
		return nil
	}
	addr, known, early := zone.ClientAddr(e.HTTP)
	if !known || early || e.isUntrustedProxy(addr) {
		return nil
	}
	return append(t.AppendClient(nil, addr), key...)
}

// isUntrustedProxy reports whether the address of the client is probably that of a proxy, which all clients
// of the proxy share. It returns false for a public address: a client may have sent the header itself.
func (e *Evaluation) isUntrustedProxy(client netip.Addr) bool {
	return forwardingHeader(e.HTTP.Header) != "" && client == peerAddr(e.HTTP) &&
		(client.IsPrivate() || client.IsLoopback() || client.IsLinkLocalUnicast())
}
