package fleetlimit

import (
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// The placeholders that are known here, by the names and prefixes that Caddy's replacer gives them.
const (
	headerPrefix = "http.request.header."
	queryPrefix  = "http.request.uri.query."
	cookiePrefix = "http.request.cookie."
	varPrefix    = "http.vars."

	hostLabelPrefix = "http.request.host.labels."

	clientIPName   = varPrefix + caddyhttp.ClientIPVarKey
	remoteName     = "http.request.remote"
	remoteHostName = "http.request.remote.host"
)

// newReader compiles a text that is one placeholder, in braces.
func newReader(placeholder string) (reader, error) {
	pieces, err := splitTemplate(placeholder)
	if err != nil {
		return nil, err
	}
	if len(pieces) != 1 || !pieces[0].placeholder {
		return nil, fmt.Errorf("%q is not a placeholder: write exactly one, such as {http.auth.user.id}", placeholder)
	}
	text, global, err := expandGlobal(pieces[0].text)
	if err != nil {
		return nil, err
	}
	if global {
		return func(*http.Request, *caddy.Replacer) (string, presence) { return valueOf(text) }, nil
	}
	return compileReader(fullName(pieces[0].text)), nil
}

// readsEnvironment reports whether z has a placeholder that is the same for all requests where only the load can tell its
// value.
func (z *Zone) readsEnvironment() bool {
	templates := []string{z.Key, z.OnMissingKey}
	if z.Tier != nil {
		templates = append(templates, z.Tier.Placeholder)
	}
	return slices.ContainsFunc(templates, func(t string) bool {
		return strings.Contains(t, "{env.") || strings.Contains(t, "{file.") || strings.Contains(t, "{system.")
	})
}

// expandGlobal returns the value of a placeholder that is the same for all requests. Times are not, so they are left to the
// requests. A value that is empty would make every key a missing one, or all keys the same, and is refused.
func expandGlobal(name string) (value string, global bool, err error) {
	if !strings.HasPrefix(name, "env.") && !strings.HasPrefix(name, "file.") && !strings.HasPrefix(name, "system.") {
		return "", false, nil
	}
	value, global = caddy.NewReplacer().GetString(name)
	if global && value == "" {
		return "", true, fmt.Errorf("{%s} is empty when the configuration loads: give it a value or leave it out", name)
	}
	return value, global, nil
}

// fullName undoes the two shorthands that people also write in JSON, where Caddy does not know them.
func fullName(name string) string {
	switch name {
	case "client_ip":
		return clientIPName
	case "remote_host":
		return remoteHostName
	}
	return name
}

// isAddress reports whether a placeholder expands to the client's address alone.
func isAddress(name string) bool { return name == clientIPName || name == remoteHostName }

// isHostHeader reports whether a placeholder is the Host header, which net/http takes out of the headers.
func isHostHeader(name string) bool {
	field, ok := strings.CutPrefix(name, headerPrefix)
	return ok && strings.EqualFold(field, "Host")
}

// fromAddress reports whether a placeholder expands to something that is made from the client's address.
func fromAddress(name string) bool {
	return isAddress(name) || name == remoteName || strings.HasPrefix(name, remoteHostName+"/")
}

// compileReader returns the reader of a placeholder. The common ones bypass the replacer, which compares each name with
// those of all its providers first.
func compileReader(name string) reader {
	switch name {
	case "http.request.method":
		return readMethod
	case "http.request.host":
		return readHost
	case "http.request.hostport":
		return readHostPort
	case "http.request.uri.path":
		return func(r *http.Request, _ *caddy.Replacer) (string, presence) { return valueOf(r.URL.Path) }
	case remoteHostName:
		return readRemoteHost
	}
	if isHostHeader(name) {
		return readHostPort
	}
	if field, ok := strings.CutPrefix(name, headerPrefix); ok {
		return readHeader(textproto.CanonicalMIMEHeaderKey(field))
	}
	if field, ok := strings.CutPrefix(name, queryPrefix); ok {
		return readQuery(field)
	}
	if field, ok := strings.CutPrefix(name, cookiePrefix); ok {
		return readCookie(field)
	}
	if field, ok := strings.CutPrefix(name, varPrefix); ok {
		return readVar(field)
	}
	if index, ok := strings.CutPrefix(name, hostLabelPrefix); ok {
		return readHostLabel(index)
	}
	return readReplacer(name)
}

// lenientReader returns the reader of a placeholder in a zone of caddy-ratelimit: it expands to what the replacer says
// where it is missing or ambiguous.
func lenientReader(name string) reader {
	replacer := readReplacer(name)
	if isHostHeader(name) { // the replacer never finds it
		return func(r *http.Request, repl *caddy.Replacer) (string, presence) {
			value, _ := replacer(r, repl)
			return value, present
		}
	}
	read := compileReader(name)
	return func(r *http.Request, repl *caddy.Replacer) (string, presence) {
		value, p := read(r, repl)
		if p != present {
			value, _ = replacer(r, repl)
		}
		return value, present
	}
}

// clientControlled reports whether a client decides the value of a placeholder, given in braces or by its name. What other
// modules provide ({http.auth.*}, {http.vars.*}) counts as decided by them. Of a request, only what the connection and
// the server say is not the client's; names of later Caddy versions count as the client's until they are listed here.
func clientControlled(placeholder string) bool {
	name := strings.TrimSuffix(strings.TrimPrefix(placeholder, "{"), "}")
	if strings.HasPrefix(name, "http.regexp.") || strings.HasPrefix(name, "http.matchers.") {
		return true // cut out of the path or a header
	}
	if !strings.HasPrefix(name, "http.request.") {
		return false
	}
	for _, prefix := range []string{"local", "remote", "scheme", "duration", "uuid", "tls.client."} {
		if strings.HasPrefix(name, "http.request."+prefix) {
			return false
		}
	}
	return true
}
