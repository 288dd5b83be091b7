package fleetlimit

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A gate lets client addresses past all zones, or turns them away.
type gate struct {
	allow, deny addressList
}

func newGate(allow, deny []string) (g gate, err error) {
	if g.allow, err = parseAddressList(allow); err != nil {
		return g, fmt.Errorf("allow: %w", err)
	}
	if g.deny, err = parseAddressList(deny); err != nil {
		return g, fmt.Errorf("deny: %w", err)
	}
	return g, nil
}

// check reports whether a request goes past all zones, or returns the error that turns it away; deny comes before allow. A
// client without an address, as on a Unix socket, is on no list. An address that a 0-RTT request has not proved yet decides
// nothing: the client is asked to come again.
func (g *gate) check(r *http.Request) (past bool, err error) {
	if g.allow.empty() && g.deny.empty() {
		return false, nil
	}
	addr, ok, early := clientAddr(r)
	switch {
	case early:
		return false, caddyhttp.Error(http.StatusTooEarly, errEarlyData)
	case !ok:
		return false, nil
	case g.deny.contains(addr):
		metrics.addressDenied.Add(1)
		return false, caddyhttp.Error(http.StatusForbidden, errAddressDenied)
	case g.allow.contains(addr):
		metrics.addressAllowed.Add(1)
		return true, nil
	}
	return false, nil
}

var errAddressDenied = errors.New("the client's address is on the handler's deny list")
