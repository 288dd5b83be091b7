package evaluate

import (
	"net/netip"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// shareKey returns the key of the share that the client's address has of the requests at once of a key.
// It returns nil if the address may have them all, as of a key that is its own.
func (e *Evaluation) shareKey(r *response.Result, key []byte) []byte {
	if r.Policy.Share() == nil {
		return nil
	}
	return e.clientOf(r.Template, key)
}

// clientOf returns the key of a client among those that share a key. It returns nil if there is no other
// client, or if the address is not known to be that of one.
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

// isUntrustedProxy reports whether the address of the client is probably that of a proxy, which all of
// its clients share. With a public address, it may be a client that sends the header.
func (e *Evaluation) isUntrustedProxy(client netip.Addr) bool {
	return forwardingHeader(e.HTTP.Header) != "" && client == peerAddr(e.HTTP) &&
		(client.IsPrivate() || client.IsLoopback() || client.IsLinkLocalUnicast())
}
