package evaluate

import "github.com/caddyserver/caddy/v2/modules/caddyhttp"

// translateClient replaces the client's address in Caddy's variable by an IPv4 address, if it is an IPv4
// address that is written as IPv6. Keys, lists and matchers read the variable. restore puts the address back,
// for the handlers that follow.
func (e *Evaluation) translateClient() (restore func()) {
	address, _ := e.Vars[caddyhttp.ClientIPVarKey].(string)
	ipv4, ok := e.handler.App.Translated.IPv4(address)
	if !ok {
		return func() {}
	}
	e.SentIP = address
	return e.PutClientIP(ipv4)
}
