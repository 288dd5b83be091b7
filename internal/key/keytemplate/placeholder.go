package keytemplate

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
	"github.com/fleetlimit/fleetlimit/internal/text/httpmethod"
)

// Presence is whether a request has a value that all programs read alike. The presence of
// several values is the greatest of theirs.
type Presence uint8

const (
	Present         Presence = iota
	Missing                  // the placeholder expands to nothing
	AmbiguousCookie          // browsers may send it, so callers should not reject it
	Ambiguous                // a header or query parameter that occurs twice or has no single reading
)

// String returns how operators read a presence.
func (p Presence) String() string {
	switch p {
	case Present:
		return "present"
	case Missing:
		return "missing"
	}
	return "ambiguous"
}

// ErrUnset is the error of placeholders that expand to nothing when the configuration loads. They
// would make all keys missing or equal.
var ErrUnset = errors.New("is empty when the configuration loads: use one that has a value")

// A Placeholder reads one placeholder from requests.
type Placeholder struct {
	Name    string // without braces
	Trusted bool   // even if clients control it
	Global  bool   // its value is the same for all requests
	read    reader
}

// ParsePlaceholder compiles a placeholder, in braces, that decides what a request may do. It
// refuses those whose values clients control, unless they are trusted.
func ParsePlaceholder(text string, trusted bool) (*Placeholder, error) {
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1 || parts[0].name == "" {
		return nil, fmt.Errorf("%q is not a placeholder: use exactly one, such as {http.auth.user.id}", text)
	}
	name := parts[0].name
	if !hasPrefix(name, "file.") {
		name = placeholder.Long(name)
	}
	if !trusted && clientControlled(name) {
		var such string
		if strings.HasPrefix(name, headerPrefix) {
			such = ", such as forward_auth in front of rate_limit_authenticated"
		}
		return nil, fmt.Errorf("clients control the value of %s: use `trusted` if something in front of this handler "+
			"guarantees it%s", text, such)
	}
	value, global, err := expandGlobal(name)
	if err != nil {
		return nil, err
	}
	if err := placeholder.Check(name); err != nil {
		return nil, err
	}
	if placeholder.FrequencyOf(name) != placeholder.Stable {
		return nil, fmt.Errorf("{%s} is new on each request or connection, so it says nothing about the client: use a "+
			"placeholder such as {http.auth.user.id} or {http.vars.cost}", name)
	}
	p := &Placeholder{Name: name, Trusted: trusted, Global: global, read: newReader(name)}
	if global {
		p.read = func(*http.Request, *caddy.Replacer) (string, Presence) { return trim(value) }
	}
	return p, nil
}

// Value returns the value of the placeholder in r. It is empty unless it is Present.
func (p *Placeholder) Value(r *http.Request, repl *caddy.Replacer) (string, Presence) {
	return p.read(r, repl)
}

// A reader reads the value of one placeholder. The value is empty unless it is Present.
type reader func(r *http.Request, repl *caddy.Replacer) (string, Presence)

// trim removes spaces and tabs around a value. HTTP/2 and HTTP/3 deliver them, but a proxy removes
// them, so an upstream does not see them.
func trim(value string) (string, Presence) {
	if value != "" && (isSpace(value[0]) || isSpace(value[len(value)-1])) {
		value = strings.Trim(value, " \t")
	}
	if value == "" {
		return "", Missing
	}
	return value, Present
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// The names and name prefixes of Caddy's placeholders that have their own readers.
const (
	headerPrefix    = "http.request.header."
	queryPrefix     = "http.request.uri.query."
	cookiePrefix    = "http.request.cookie."
	varPrefix       = "http.vars."
	hostLabelPrefix = "http.request.host.labels."

	clientIPName   = varPrefix + caddyhttp.ClientIPVarKey
	remoteName     = "http.request.remote"
	remoteHostName = "http.request.remote.host"
)

// newReader returns the reader of a placeholder. The common ones bypass the replacer, which
// compares each name with those of all its providers first.
func newReader(name string) reader {
	switch name {
	case "http.request.method": // many servers ignore its case
		return func(r *http.Request, _ *caddy.Replacer) (string, Presence) { return trim(httpmethod.Of(r)) }
	case "http.request.uri.path":
		return func(r *http.Request, _ *caddy.Replacer) (string, Presence) { return trim(cmp.Or(r.URL.Path, "/")) }
	case "http.request.host":
		return readHost
	case "http.request.hostport":
		return readHostPort
	case clientIPName:
		return readClientIP
	case remoteHostName:
		return readRemoteHost
	}
	if isHostHeader(name) {
		return readHostPort
	}
	for _, family := range []struct {
		prefix string
		reader func(name string) reader
	}{
		{headerPrefix, headerReader}, {queryPrefix, queryReader}, {cookiePrefix, cookieReader}, {varPrefix, varReader},
		{hostLabelPrefix, hostLabelReader},
	} {
		if rest, ok := strings.CutPrefix(name, family.prefix); ok {
			return family.reader(rest)
		}
	}
	return replacerReader(name)
}

func varReader(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		return trim(caddy.ToString(caddyhttp.GetVar(r.Context(), name)))
	}
}

// replacerReader returns a reader of what Caddy's replacer returns.
func replacerReader(name string) reader {
	return func(_ *http.Request, repl *caddy.Replacer) (string, Presence) {
		value, _ := repl.GetString(name)
		return trim(value)
	}
}

// lenientReader returns the reader of a placeholder in a zone of caddy-ratelimit. Missing values are
// empty, and ambiguous ones are what the replacer returns.
func lenientReader(name string) reader {
	replacer := replacerReader(name)
	read := newReader(name)
	if isHostHeader(name) { // caddy-ratelimit never finds it
		read = replacer
	}
	return func(r *http.Request, repl *caddy.Replacer) (string, Presence) {
		value, presence := read(r, repl)
		if presence > Missing {
			value, _ = replacer(r, repl)
		}
		return value, Present
	}
}

// expandGlobal returns the value of a placeholder that is the same for all requests. Times are left
// to the requests.
func expandGlobal(name string) (value string, global bool, err error) {
	if !hasPrefix(name, "env.", "file.", "system.") {
		return "", false, nil
	}
	value, global = caddy.NewReplacer().GetString(name)
	if global && value == "" {
		return "", true, fmt.Errorf("{%s} %w", name, ErrUnset)
	}
	return value, global, nil
}

// isAddress reports whether a placeholder expands to the client's address alone.
func isAddress(name string) bool { return name == clientIPName || name == remoteHostName }

// fromAddress reports whether a placeholder expands to something made from the client's address.
func fromAddress(name string) bool {
	return isAddress(name) || name == remoteName || strings.HasPrefix(name, remoteHostName+"/")
}

// isHostHeader reports whether a placeholder is the Host header, which net/http removes from the
// headers.
func isHostHeader(name string) bool {
	field, ok := strings.CutPrefix(name, headerPrefix)
	return ok && strings.EqualFold(field, "Host")
}

// ClientControlled returns the first placeholder in text whose value a client decides, without
// braces, or "".
func ClientControlled(text string) string {
	parts, _ := split(text)
	for _, p := range parts {
		if clientControlled(p.name) {
			return p.name
		}
	}
	return ""
}

// clientControlled reports whether a client decides the value of a placeholder. Values from other
// modules ({http.auth.*}, {http.vars.*}) are theirs. Of a request, only the connection and what the
// server adds are not the client's. Placeholders of later Caddy versions count as the client's.
func clientControlled(name string) bool {
	if hasPrefix(name, "http.regexp.", "http.matchers.") {
		return true // cut out of the path or a header
	}
	part, ok := strings.CutPrefix(name, "http.request.")
	return ok && !hasPrefix(part, "local", "remote", "scheme", "duration", "uuid", "tls.client.")
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
