package replay

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// needs are the fields of a log that a zone reads.
type needs struct {
	wants []logs.Want
	seen  []int64 // number of rows that have each field
	rows  int64

	given map[string]string // Options.Fields
}

// want adds a field, and returns its place in rows. why is what needs the field, or "" if it may be
// absent.
func (n *needs) want(why string, path ...string) int {
	i := slices.IndexFunc(n.wants, func(w logs.Want) bool { return slices.Equal(w.Path, path) })
	if i < 0 {
		i = len(n.wants)
		n.wants = append(n.wants, logs.Want{Path: path, Maybe: true})
		n.seen = append(n.seen, 0)
	}
	if why != "" && (n.wants[i].For == "" || n.wants[i].Maybe) {
		n.wants[i].For, n.wants[i].Maybe = why, false
	}
	return i
}

// maybe adds a field that no line need have, although the log can have it.
func (n *needs) maybe(why string, path ...string) int {
	i := n.want("", path...)
	if n.wants[i].For == "" {
		n.wants[i].For = why
	}
	return i
}

// findNeeds finds the fields that the zone reads.
func (z *Reader) findNeeds(settings *config.Zone, o Options) error {
	n := &z.needs
	n.given = make(map[string]string)
	for name, field := range o.Fields {
		n.given[placeholder.Long(strings.Trim(name, "{}"))] = field
	}
	z.made.init()
	z.made.said = said{zone: n.want("", "rate_limit", "zone"), decision: n.want("", "rate_limit", "decision"), at: n.want("", "rate_limit", "at")}
	z.logger = n.want("", "logger")
	if z.recorded {
		z.made.said.want(n)
		return nil
	}
	z.statuses = len(settings.CountStatus) > 0 || slices.ContainsFunc(settings.Endpoints, func(e *config.Endpoint) bool {
		return len(e.CountStatus) > 0
	})
	if z.statuses {
		z.made.status = n.want("count_status", "status")
	}
	if len(settings.Endpoints) > 0 {
		z.made.uri, z.made.method = n.want("endpoint", "request", "uri"), n.want("endpoint", "request", "method")
	}
	for _, name := range z.zone.Placeholders() {
		if err := z.made.placeholder(n, name); err != nil {
			return err
		}
	}
	for _, u := range z.uses {
		if err := z.useNeeds(u); err != nil {
			return err
		}
	}
	return nil
}

// useNeeds adds the fields that a use reads.
func (z *Reader) useNeeds(u *use) error {
	n := &z.needs
	if len(u.handler.Allow)+len(u.handler.Deny) > 0 {
		z.made.clientIP = n.want("allow or deny", "request", "client_ip")
	}
	for _, sets := range u.around {
		if onlyHosts(sets) {
			z.made.host = n.want("", "request", "host")
		} else if err := z.made.matchers(n, sets); err != nil {
			return fmt.Errorf("a route around the zone: %w", err)
		}
	}
	if err := z.made.matchers(n, u.matchers); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	return nil
}

// errUnknown is about a placeholder that no field in a log of Caddy has.
var errUnknown = errors.New("no field of the log has it: use log_append in the site, and --field with the name of that field, " +
	"or --recorded if the gateway has written key_hash")

// placeholder adds the fields that a placeholder reads.
func (m *request) placeholder(n *needs, name string) error {
	why := "{" + name + "}"
	if field, given := n.given[name]; given {
		m.provided = append(m.provided, placed{name, n.want(why, strings.Split(field, ".")...)})
		return nil
	}
	if strings.HasPrefix(name, "env.") || strings.HasPrefix(name, "file.") || strings.HasPrefix(name, "system.") {
		return nil // these placeholders have one value for all requests
	}
	header, isHeader := strings.CutPrefix(name, "http.request.header.")
	switch {
	case name == "http.vars.client_ip":
		m.clientIP = n.want(why, "request", "client_ip")
	case isHeader && !strings.EqualFold(header, "Host"):
		m.header(n, why, header)
	case strings.HasPrefix(name, "http.request.cookie."):
		m.header(n, why, "Cookie")
	case name == "http.request.method":
		m.method = n.want(why, "request", "method")
	case isHeader, name == "http.request.host", name == "http.request.hostport", strings.HasPrefix(name, "http.request.host.labels."):
		m.host = n.want(why, "request", "host")
	case name == "http.request.uri", strings.HasPrefix(name, "http.request.uri."), name == "http.request.uri_escaped":
		m.uri = n.want(why, "request", "uri")
	case name == "http.request.proto":
		m.proto = n.want(why, "request", "proto")
	case name == "http.request.remote.host", strings.HasPrefix(name, "http.request.remote.host/"):
		m.remoteIP = n.want(why, "request", "remote_ip")
	case name == "http.auth.user.id":
		m.provided = append(m.provided, placed{name, n.want(why, "user_id")})
	case name == "http.request.tls.server_name":
		m.serverName = n.want(why, "request", "tls", "server_name")
	default:
		return fmt.Errorf("the zone reads %s, and %w", why, errUnknown)
	}
	return nil
}

func (m *request) header(n *needs, why, name string) {
	field := textproto.CanonicalMIMEHeaderKey(name)
	m.addHeader(field, n.want(why, "request", "headers", field))
}

func (m *request) addHeader(field string, place int) {
	if !slices.ContainsFunc(m.headers, func(h placed) bool { return h.name == field }) {
		m.headers = append(m.headers, placed{field, place})
	}
}

// matchedHeader adds a header that requests may lack.
func (m *request) matchedHeader(n *needs, why, name string) {
	field := textproto.CanonicalMIMEHeaderKey(name)
	m.addHeader(field, n.maybe(why, "request", "headers", field))
}

// matchers adds the fields that matchers read.
func (m *request) matchers(n *needs, sets caddyhttp.MatcherSets) error {
	for _, set := range sets {
		for _, matcher := range set {
			if err := m.matcher(n, matcher); err != nil {
				return err
			}
		}
	}
	return nil
}

// matcher adds the fields that one of Caddy's matchers reads.
func (m *request) matcher(n *needs, matcher any) error {
	why := "a matcher"
	if module, is := matcher.(caddy.Module); is {
		why = "the matcher " + module.CaddyModule().ID.Name()
	}
	switch matcher := matcher.(type) {
	case *caddyhttp.MatchPath, *caddyhttp.MatchPathRE, *caddyhttp.MatchQuery:
		m.uri = n.want(why, "request", "uri")
	case *caddyhttp.MatchMethod:
		m.method = n.want(why, "request", "method")
	case *caddyhttp.MatchHost:
		m.host = n.want(why, "request", "host")
	case *caddyhttp.MatchHeader:
		for name := range *matcher {
			m.matchedHeader(n, why, name)
		}
	case *caddyhttp.MatchHeaderRE:
		for name := range *matcher {
			m.matchedHeader(n, why, name)
		}
	case *caddyhttp.MatchProtocol:
		m.proto, m.tls = n.want(why, "request", "proto"), n.want("", "request", "tls", "version")
		m.matchedHeader(n, "", "Content-Type")
	case *caddyhttp.MatchRemoteIP:
		m.remoteIP = n.want(why, "request", "remote_ip")
	case *caddyhttp.MatchClientIP:
		m.clientIP = n.want(why, "request", "client_ip")
	case *caddyhttp.MatchNot:
		return m.matchers(n, matcher.MatcherSets)
	default:
		return fmt.Errorf("no log has what %s reads: use matchers of methods, paths, hosts, headers, queries or addresses, or --recorded "+
			"if the gateway has written key_hash", why)
	}
	return nil
}
