package integration

import (
	"strings"
	"testing"
)

const allowedPrivate = "rate_limit {\nallow private_ranges\nzone address {\nkey {client_ip}\nlimit 1/1h\n}\n}\nrespond ok"

const (
	proxyIsExempt = "an address that is allowed past all zones seems to be that of a proxy, so its clients have no limit: " +
		"use trusted_proxies and trusted_proxies_strict in the global option servers, or an `allow` without it"
	clientsCanWrite = "clients can write an address that `allow` exempts from all zones at the beginning of X-Forwarded-For, " +
		"unless the proxy removes it: use trusted_proxies_strict in the global option servers"
)

// TestAllowThatCoversAProxy sends requests that a private load balancer forwards for clients of the Internet,
// to a Caddy that does not trust the load balancer.
func TestAllowThatCoversAProxy(t *testing.T) {
	const exempt = "caddy_rate_limit_exempt_proxies_total"
	g := newGateway(t)
	config := strings.Replace(g.caddyfile("", allowedPrivate), "trusted_proxies static 127.0.0.0/8", "", 1)
	g.mustLoad(config)
	before := g.metric(exempt)
	g.get("/").is(200) // a request without a proxy
	if got := g.logged(proxyIsExempt); len(got) != 0 {
		t.Errorf("without a proxy, the log has %v", got)
	}
	for _, header := range []string{"X-Forwarded-For: 203.0.113.7", "Forwarded: for=203.0.113.7", "X-Real-IP: 203.0.113.7"} {
		g.get("/", header).is(200)
	}
	if got := g.metric(exempt) - before; got != 3 {
		t.Errorf("exempt_proxies_total = %v, want 3", got)
	}
	if got := g.logged(proxyIsExempt); len(got) != 1 || got[0]["remote_ip"] != "127.0.0.1" || got[0]["header"] != "X-Forwarded-For" {
		t.Errorf("the log has %v, want one line about 127.0.0.1", got)
	}
	if got := g.logged(clientsCanWrite); len(got) != 0 {
		t.Errorf("without trusted_proxies, the log has %v", got)
	}
	g.mustLoad(config)
	g.get("/", "X-Real-IP: 203.0.113.7").is(200)
	if got := g.logged(proxyIsExempt); len(got) != 2 {
		t.Errorf("the log has %d lines, want one for each configuration", len(got))
	}
}

// TestUntrustedProxy sends requests that a private load balancer forwards, to a Caddy that does not trust it
// and counts by address.
func TestUntrustedProxy(t *testing.T) {
	const (
		untrusted = "caddy_rate_limit_untrusted_proxies_total"
		warning   = "what seems to be a proxy is not trusted, so the zone counts all of its clients as one: use " +
			"trusted_proxies and trusted_proxies_strict in the global option servers"
		site = "rate_limit {\nzone address {\nkey {client_ip}\nlimit 100/1h\n}\n}\nrespond ok"
	)
	g := newGateway(t)
	trusting := g.caddyfile("", site)
	g.mustLoad(trusting)
	before := g.metric(untrusted)
	g.get("/", "X-Forwarded-For: 203.0.113.7").is(200)
	g.mustLoad(strings.Replace(trusting, "trusted_proxies static 127.0.0.0/8", "", 1))
	g.get("/").is(200)
	if got := g.logged(warning); len(got) != 0 || g.metric(untrusted) != before {
		t.Errorf("with a trusted proxy and without one, the log has %v, untrusted_proxies_total = %v", got, g.metric(untrusted)-before)
	}
	for _, header := range []string{"CF-Connecting-IP: 203.0.113.7", "X-Forwarded-For: 203.0.113.7"} {
		g.get("/", header).is(200)
	}
	if got := g.logged(warning); len(got) != 1 || got[0]["zone"] != "address" || got[0]["header"] != "Cf-Connecting-Ip" {
		t.Errorf("the log has %v, want one line about the first", got)
	}
	if got := g.metric(untrusted) - before; got != 2 {
		t.Errorf("untrusted_proxies_total = %v, want 2", got)
	}
	if status := g.admin("GET", "/rate_limit/status", "").body; !strings.Contains(status, `"address":"127.0.0.1"`) {
		t.Errorf("the status = %s, want the address of the proxy", status)
	}
}

// TestProxyWhoseClientsAreUnknown sends requests of proxies that are trusted but name no client that Caddy
// reads, and of an edge of a CDN with a public address. The warning about each has a text of its own.
func TestProxyWhoseClientsAreUnknown(t *testing.T) {
	const site = "rate_limit {\nzone address {\nkey {client_ip}\nlimit 100/1h\n}\n}\nrespond ok"
	for name, test := range map[string]struct {
		header, cause string
	}{
		"another header":  {"X-Real-IP: 203.0.113.7", "header_not_read"},
		"no address":      {"X-Forwarded-For: {http.request.client_ip}", "no_client_address"},
		"a trusted one":   {"X-Forwarded-For: 127.0.0.9", "no_client_address"},
		"one that is fit": {"X-Forwarded-For: 203.0.113.7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.mustLoad(strings.Replace(g.caddyfile("", site), "trusted_proxies static 127.0.0.0/8",
				"trusted_proxies static 127.0.0.0/8\n\t\ttrusted_proxies_strict", 1))
			g.get("/", test.header).is(200)
			status := g.admin("GET", "/rate_limit/status", "").body
			if test.cause == "" && strings.Contains(status, "untrusted_proxy") ||
				test.cause != "" && !strings.Contains(status, `"cause":"`+test.cause+`"`) {
				t.Errorf("the status = %s, want the cause %q", status, test.cause)
			}
		})
	}
}

// TestAllowThatClientsCanWrite loads a configuration in which clients can write an allowed address, which
// causes a warning at the start, and one in which they cannot, which does not.
func TestAllowThatClientsCanWrite(t *testing.T) {
	g := newGateway(t)
	loose := g.caddyfile("", allowedPrivate)
	g.mustLoad(loose)
	if got := g.logged(clientsCanWrite); len(got) != 1 {
		t.Errorf("the log has %v, want one line", got)
	}
	g.get("/", "X-Forwarded-For: 203.0.113.7").is(200)
	g.get("/", "X-Forwarded-For: 203.0.113.7").is(429)
	g.get("/", "X-Forwarded-For: 10.9.9.9, 203.0.113.7").is(200) // this is what the warning is about

	const trusted = "trusted_proxies static 127.0.0.0/8"
	for _, safe := range []string{
		strings.Replace(loose, trusted, trusted+"\n\t\ttrusted_proxies_strict", 1),
		strings.Replace(loose, trusted, trusted+"\n\t\tclient_ip_headers X-Real-Ip", 1),
		strings.Replace(loose, "allow private_ranges", "", 1),
	} {
		g.mustLoad(safe)
	}
	if got := g.logged(clientsCanWrite); len(got) != 1 {
		t.Errorf("after configurations in which clients cannot, the log has %d lines, want 1", len(got))
	}
	g.mustLoad(strings.Replace(loose, trusted, trusted+"\n\t\ttrusted_proxies_strict", 1))
	g.get("/", "X-Forwarded-For: 10.9.9.9, 203.0.113.7").is(429)
}

// TestProxyProtocol checks that {client_ip} and allow read the address that a load balancer sends by the
// PROXY protocol, in the configuration of docs/recipes.md.
func TestProxyProtocol(t *testing.T) {
	g := newGateway(t)
	g.mustLoad(strings.Replace(g.caddyfile("", allowedPrivate), "trusted_proxies static 127.0.0.0/8",
		"listener_wrappers {\n\t\t\tproxy_protocol {\n\t\t\t\tallow 127.0.0.0/8\n\t\t\t}\n\t\t}", 1))
	from := func(address string) string {
		return "PROXY TCP4 " + address + " 192.0.2.1 4711 80\r\n" + rawGet("/", "X-Forwarded-For: 10.9.9.9")
	}
	for _, client := range []string{"203.0.113.7", "203.0.113.8"} {
		g.raw(from(client)).is(200)
		g.raw(from(client)).is(429)
	}
	g.raw(from("10.0.0.1")).is(200)
	g.raw(from("10.0.0.1")).is(200)
}
