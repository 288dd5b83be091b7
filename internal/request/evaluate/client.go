package evaluate

import (
	"net/http"
	"net/netip"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A client is the client of a request. Its pointer is that of the request, so that a take refers to it
// without an allocation. Its address is read only if a store needs it.
type client http.Request

// networkBits is the length in bits of the IPv6 networks that count as one client, as in keys by default.
const networkBits = 64

// Network implements limiter.Client. Anybody may send early data from somebody else's address, so all clients
// that send early data count as one.
func (c *client) Network() netip.Addr {
	addr, known, early := zone.ClientAddr((*http.Request)(c))
	switch {
	case early:
		return netip.IPv6Unspecified()
	case !known:
		return netip.Addr{}
	case addr.Is6():
		network, _ := addr.Prefix(networkBits)
		return network.Masked().Addr()
	}
	return addr
}
