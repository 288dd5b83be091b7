package explain

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// An endpoint is where a request goes: first as far as it is asked for, then as it is found.
type endpoint struct {
	scheme string // "" if any
	host   string // "" if any; perhaps with a port
	server string // its name; "" if any

	found   *caddyhttp.Server
	withTLS bool
}

// find finds the server that gets the request, and completes the host.
func (e *endpoint) find(app *caddyhttp.App, limits Limits) error {
	if app == nil || len(app.Servers) == 0 {
		return errNoServers
	}
	port := e.port(app)
	var fit []string
	for _, name := range slices.Sorted(maps.Keys(app.Servers)) {
		server := app.Servers[name]
		_, limited := limits.Hosts(server)
		switch {
		case e.server != "" && name != e.server, port != 0 && !listensAt(server, port):
		case e.server != "" || port != 0 || limited:
			fit = append(fit, name)
		}
	}
	switch {
	case len(fit) == 0:
		return fmt.Errorf("no server with rate_limit gets the request: use one of %s", serverTexts(app))
	case len(fit) > 1:
		return fmt.Errorf("several servers could get the request: use one of %s in server, or a port in the address",
			serverTexts(app))
	}
	e.server = fit[0]
	e.found = app.Servers[e.server]
	if port == 0 {
		port = firstPort(e.found)
	}
	e.withTLS = len(e.found.TLSConnPolicies) > 0 && port != cmp.Or(app.HTTPPort, caddyhttp.DefaultHTTPPort)
	if e.host != "" {
		return nil
	}
	hosts, _ := limits.Hosts(e.found)
	slices.Sort(hosts)
	switch hosts = slices.Compact(hosts); {
	case len(hosts) == 0:
		e.host = "localhost"
	case len(hosts) > 1 || strings.ContainsAny(hosts[0], "*{"):
		return fmt.Errorf("the sites with rate_limit have hosts: use a request to one of %q", hosts)
	default:
		e.host = hosts[0]
	}
	return nil
}

// port returns the port that the request says, 0 if it says none.
func (e *endpoint) port(app *caddyhttp.App) int {
	if _, text, err := net.SplitHostPort(e.host); err == nil {
		port, _ := strconv.Atoi(text)
		return port
	}
	switch e.scheme {
	case "http":
		return cmp.Or(app.HTTPPort, caddyhttp.DefaultHTTPPort)
	case "https":
		return cmp.Or(app.HTTPSPort, caddyhttp.DefaultHTTPSPort)
	}
	return 0
}

// tls returns the state of the connection, nil if the server has none with TLS there.
func (e *endpoint) tls(host string) *tls.ConnectionState {
	if !e.withTLS {
		return nil
	}
	if bare, _, err := net.SplitHostPort(host); err == nil {
		host = bare
	}
	return &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, ServerName: host}
}

func listensAt(server *caddyhttp.Server, port int) bool {
	return slices.ContainsFunc(server.Listen, func(text string) bool {
		at, err := caddy.ParseNetworkAddress(text)
		return err == nil && at.StartPort <= uint(port) && uint(port) <= at.EndPort
	})
}

func firstPort(server *caddyhttp.Server) int {
	for _, text := range server.Listen {
		if at, err := caddy.ParseNetworkAddress(text); err == nil {
			return int(at.StartPort)
		}
	}
	return 0
}

// serverTexts names the servers with their addresses.
func serverTexts(app *caddyhttp.App) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(app.Servers)) {
		texts = append(texts, fmt.Sprintf("%s (%s)", name, strings.Join(app.Servers[name].Listen, " ")))
	}
	return strings.Join(texts, ", ")
}
