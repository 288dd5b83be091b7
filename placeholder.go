package fleetlimit

import (
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
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

	clientIPName   = varPrefix + caddyhttp.ClientIPVarKey
	remoteName     = "http.request.remote"
	remoteHostName = "http.request.remote.host"
)

// reader reads the value of one placeholder. ok is false, and value empty, when it is missing: it expands to nothing, or
// the header, query parameter or cookie occurs more than once. Whose count would two values use? A proxy behind may well
// read another of them than we do.
type reader func(r *http.Request, repl *caddy.Replacer) (value string, ok bool)

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
		return func(*http.Request, *caddy.Replacer) (string, bool) { return text, true }, nil
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

// fromAddress reports whether a placeholder expands to something that is made from the client's address.
func fromAddress(name string) bool {
	return isAddress(name) || name == remoteName || strings.HasPrefix(name, remoteHostName+"/")
}

// compileReader returns the reader of a placeholder. Spaces and tabs around a value are not part of it: HTTP/2 and HTTP/3
// deliver them, and a proxy removes them, so an upstream never sees them.
func compileReader(name string) reader {
	read := rawReader(name)
	return func(r *http.Request, repl *caddy.Replacer) (string, bool) {
		value, ok := read(r, repl)
		value = strings.Trim(value, " \t")
		return value, ok && value != ""
	}
}

// rawReader returns a reader that does not trim. The common ones bypass the replacer, which compares each name with
// those of all its providers first. They say exactly what it would have said, as nothing in Caddy sets these names itself.
func rawReader(name string) reader {
	switch name {
	case "http.request.method":
		return func(r *http.Request, _ *caddy.Replacer) (string, bool) { return r.Method, r.Method != "" }
	case "http.request.host":
		return readHost
	case "http.request.uri.path":
		return func(r *http.Request, _ *caddy.Replacer) (string, bool) { return r.URL.Path, r.URL.Path != "" }
	case remoteHostName:
		return readRemoteHost
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
	return func(_ *http.Request, repl *caddy.Replacer) (string, bool) {
		value, _ := repl.GetString(name)
		return value, value != ""
	}
}

// neverMissing returns a reader that says what the replacer says where read misses something.
func neverMissing(name string, read reader) reader {
	return func(r *http.Request, repl *caddy.Replacer) (string, bool) {
		value, ok := read(r, repl)
		if !ok {
			value, _ = repl.GetString(name)
			value = strings.Trim(value, " \t")
		}
		return value, true
	}
}

func readHeader(field string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, bool) { return only(r.Header[field]) }
}

// readQuery counts occurrences as lenient servers see them, which also split at `;`: net/url leaves such parts out, so that
// a client could show one key here and another there.
func readQuery(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, bool) {
		n := 0
		for rest := r.URL.RawQuery; rest != ""; {
			pair := rest
			if i := strings.IndexAny(rest, "&;"); i >= 0 {
				pair, rest = rest[:i], rest[i+1:]
			} else {
				rest = ""
			}
			field, _, _ := strings.Cut(pair, "=")
			if field, err := url.QueryUnescape(field); err == nil && field == name {
				n++
			}
		}
		if n != 1 {
			return "", false
		}
		return only(r.URL.Query()[name])
	}
}

// only returns the value of what occurs exactly once and is not empty.
func only(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	return values[0], values[0] != ""
}

// readCookie compares names without regard to case, as the replacer does, so two spellings are two occurrences.
func readCookie(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, bool) {
		var found *http.Cookie
		for _, c := range r.Cookies() {
			if !strings.EqualFold(name, c.Name) {
				continue
			}
			if found != nil {
				return "", false
			}
			found = c
		}
		if found == nil {
			return "", false
		}
		return found.Value, found.Value != ""
	}
}

func readVar(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, bool) {
		value := caddy.ToString(caddyhttp.GetVar(r.Context(), name))
		return value, value != ""
	}
}

func readHost(r *http.Request, _ *caddy.Replacer) (string, bool) {
	if strings.IndexByte(r.Host, ':') >= 0 { // else SplitHostPort allocates an error
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			return host, host != ""
		}
	}
	return r.Host, r.Host != ""
}

func readRemoteHost(r *http.Request, _ *caddy.Replacer) (string, bool) {
	if unproved(r) {
		return "", false
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr // of a Unix socket
	}
	return host, host != ""
}

// clientWritten reports whether a client decides the value of a placeholder, given in braces or by its name. What other
// modules provide ({http.auth.*}, {http.vars.*}) counts as decided by them. Of a request, only what the connection and
// the server say is not the client's; names of later Caddy versions count as the client's until they are listed here.
func clientWritten(placeholder string) bool {
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
