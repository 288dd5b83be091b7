package evaluate

import "github.com/caddyserver/caddy/v2/modules/caddyhttp"

// translateClient has the client its IPv4 address, in Caddy's variable of it, if that is written as
// IPv6: keys, lists and matchers read the address there. restore undoes that, for the handlers that
// follow.
func (e *Evaluation) translateClient() (restore func()) {
	address, _ := e.Vars[caddyhttp.ClientIPVarKey].(string)
	ipv4, ok := e.handler.App.Translated.IPv4(address)
	if !ok {
		return func() {}
	}
	e.SentIP = address
	return e.PutClientIP(ipv4)
}
