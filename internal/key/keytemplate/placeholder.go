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

// Presence says whether a request has a value that all programs read alike. The presence of several
// values is the highest presence of them.
type Presence uint8

const (
	Present         Presence = iota
	Missing                  // the value is empty
	AmbiguousCookie          // browsers may send such a cookie, so callers should not reject it
	Ambiguous                // a header or query parameter that occurs twice, or that programs read differently
)

// String returns the word that operators read for p.
func (p Presence) String() string {
	switch p {
	case Present:
		return "present"
	case Missing:
		return "missing"
	}
	return "ambiguous"
}

// ErrUnset says that a placeholder is empty when the configuration loads. It would make all keys
// missing or equal.
var ErrUnset = errors.New("is empty when the configuration loads: use one that has a value")

// A Placeholder reads one placeholder from requests.
type Placeholder struct {
	Name    string // without braces
	Trusted bool   // accept a value that clients control
	Global  bool   // all requests have one value
	read    reader
}

// ParsePlaceholder compiles a placeholder, in braces, that decides what a request may do. It returns an
// error if clients control the value of the placeholder, unless trusted is true.
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

// Value returns the value of the placeholder in r. The value is "" unless its presence is Present.
func (p *Placeholder) Value(r *http.Request, repl *caddy.Replacer) (string, Presence) {
	return p.read(r, repl)
}

// A reader reads the value of one placeholder. The value is "" unless its presence is Present.
type reader func(r *http.Request, repl *caddy.Replacer) (string, Presence)

// trim removes spaces and tabs around a value. HTTP/2 and HTTP/3 deliver them, but a proxy removes them
// before the upstream sees the value.
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

// These are the names and prefixes of names of Caddy's placeholders that have readers of their own.
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

// newReader returns the reader of the placeholder called name. Common placeholders are read without the
// replacer, because it first compares a name with the names of all its providers.
func newReader(name string) reader {
	switch name {
	case "http.request.method": // many servers ignore the case of a method
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

// replacerReader returns a reader that asks Caddy's replacer.
func replacerReader(name string) reader {
	return func(_ *http.Request, repl *caddy.Replacer) (string, Presence) {
		value, _ := repl.GetString(name)
		return trim(value)
	}
}

// lenientReader returns the reader of a placeholder in a zone of caddy-ratelimit. A missing value is
// empty, and for an ambiguous value it returns what the replacer returns.
func lenientReader(name string) reader {
	replacer := replacerReader(name)
	read := newReader(name)
	if isHostHeader(name) { // caddy-ratelimit does not find the Host header
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

// expandGlobal returns the value of a placeholder that is equal for all requests. global is false for
// other placeholders, and for times.
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

// isAddress reports whether a placeholder expands to the client's address and nothing else.
func isAddress(name string) bool { return name == clientIPName || name == remoteHostName }

// fromAddress reports whether a placeholder expands to a text that contains the client's address or a
// part of it.
func fromAddress(name string) bool {
	return isAddress(name) || name == remoteName || strings.HasPrefix(name, remoteHostName+"/")
}

// isHostHeader reports whether a placeholder is the Host header. net/http removes that header from the
// others.
func isHostHeader(name string) bool {
	field, ok := strings.CutPrefix(name, headerPrefix)
	return ok && strings.EqualFold(field, "Host")
}

// ClientControlled returns the name, without braces, of the first placeholder in text whose value a
// client controls. It returns "" if there is none.
func ClientControlled(text string) string {
	parts, _ := split(text)
	for _, p := range parts {
		if clientControlled(p.name) {
			return p.name
		}
	}
	return ""
}

// clientControlled reports whether a client controls the value of a placeholder. A client controls
// everything in a request except the connection and what the server adds. Placeholders of later
// versions of Caddy count as controlled. Values of other modules ({http.auth.*}, {http.vars.*}) do not:
// those modules answer for them.
func clientControlled(name string) bool {
	if hasPrefix(name, "http.regexp.", "http.matchers.") {
		return true // a part of the path or of a header
	}
	part, ok := strings.CutPrefix(name, "http.request.")
	return ok && !hasPrefix(part, "local", "remote", "scheme", "duration", "uuid", "tls.client.")
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
