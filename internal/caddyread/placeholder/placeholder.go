// Package placeholder knows the names of Caddy's placeholders, and the mistakes that people make
// with them.
//
// A placeholder without a value expands to nothing, so nobody notices a wrong name. The package
// distinguishes three kinds of names:
//
//   - Names that Caddy has. The package asks Caddy itself, so names of later versions count too.
//   - Names that are known to be wrong. Check returns an error for them.
//   - Names that a plugin or the `map` directive may define. Only requests show whether they exist.
package placeholder

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// shorthandReplacer is made only once, because it compiles many regular expressions.
var shorthandReplacer = sync.OnceValue(httpcaddyfile.NewShorthandReplacer)

// Long returns the name for which a shorthand of the Caddyfile stands. It returns other names
// unchanged.
func Long(name string) string { return longNames.value(name) }

var longNames = memo[string]{compute: long}

func long(name string) string {
	text := caddyfile.Segment{{Text: "{" + name + "}"}}
	shorthandReplacer().ApplyToSegment(&text)
	return strings.TrimSuffix(strings.TrimPrefix(text[0].Text, "{"), "}")
}

// Frequency says how often the value of a placeholder changes for one client.
type Frequency uint8

const (
	Stable        Frequency = iota // it keeps its value for many requests, as far as is known
	PerConnection                  // it has a new value on each connection
	PerRequest                     // it has a new value on each request
)

// FrequencyOf returns how often the value of a placeholder changes.
func FrequencyOf(name string) Frequency {
	switch {
	case slices.Contains(perConnection, name):
		return PerConnection
	case slices.Contains(perRequest, name), hasPrefix(name, "http.request_id.", "extra.rand.int."):
		return PerRequest
	}
	return Stable
}

// ChosenPerRequest reports whether a client can change the value of a placeholder in each request
// without asking for something else.
func ChosenPerRequest(name string) bool { return slices.Contains(chosenPerRequest, name) }

// NamesRequest reports whether a placeholder is a header that identifies one request, by convention.
func NamesRequest(name string) bool {
	field, ok := strings.CutPrefix(name, "http.request.header.")
	return ok && slices.Contains(requestHeaders, http.CanonicalHeaderKey(field))
}

// Provided reports whether Caddy itself knows the placeholder in each request. The placeholder may be
// empty.
func Provided(name string) bool { return providedNames.value(name) }

var providedNames = memo[bool]{compute: provided}

func provided(name string) bool {
	if hasPrefix(name, "env.", "file.") {
		return true
	}
	addr := context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(new(net.TCPAddr)))
	r, err := http.NewRequestWithContext(addr, http.MethodGet, "http://localhost/", nil)
	if err != nil {
		return false
	}
	repl := caddy.NewReplacer()
	caddyhttp.PrepareRequest(r, repl, nil, new(caddyhttp.Server))
	_, known := repl.Get(name)
	return known
}

// Sometimes reports whether only some requests have the placeholder. A request without it then does not
// show that the name is wrong.
func Sometimes(name string) bool { return hasPrefix(name, sometimes...) }

// Check returns an error if name is known not to be a placeholder. name is in its long form.
func Check(name string) error { return checkedNames.value(name) }

var checkedNames = memo[error]{compute: check}

func check(name string) error {
	if field, ok := strings.CutPrefix(name, "http.request.header."); ok && !isToken(field) {
		return fmt.Errorf("{%s} is not a header: use a name of letters, digits and hyphens, such as "+
			"{http.request.header.X-Api-Key}", name)
	}
	if Provided(name) {
		return nil
	}
	if strings.HasSuffix(name, ".") || slices.Contains(sometimes, name+".") {
		return fmt.Errorf("{%s} ends too early: use a name after the dot", name)
	}
	if strings.HasPrefix(name, "http.response.") {
		return fmt.Errorf("{%s} is empty until the response is written, long after the zone is decided: use a value of "+
			"the request", name)
	}
	if base, _, ok := strings.Cut(name, "/"); ok && slices.Contains([]string{"client_ip", "remote_host"}, base) {
		return fmt.Errorf("{%s} is not a placeholder of Caddy: use {%s}, and `ipv4_prefix` and `ipv6_prefix`", name, base)
	}
	if strings.HasPrefix(name, "args[") {
		return fmt.Errorf("{%s} is an argument of a snippet: use it in a snippet, and give `import` that argument", name)
	}
	if right := corrected(name); right != "" {
		return fmt.Errorf("{%s} is not a placeholder of Caddy: use {%s}", name, right)
	}
	if strings.ContainsAny(name, "|: ") {
		return fmt.Errorf("{%s} is not one name, and placeholders have neither defaults nor alternatives: use one name", name)
	}
	for _, namespace := range closed {
		if strings.HasPrefix(name, namespace) {
			return fmt.Errorf("{%s} is not a placeholder of Caddy: use %s", name, listOf(namespace))
		}
	}
	return nil
}

// isToken reports whether s can be the name of a header (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	const valid = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	return s != "" && strings.Trim(s, valid) == ""
}

// listOf returns the placeholders of a namespace in the form of an error text.
func listOf(namespace string) string {
	var list []string
	for _, name := range names {
		if strings.HasPrefix(name, namespace) {
			list = append(list, "{"+example(name)+"}")
		}
	}
	if last := len(list) - 1; last > 0 {
		return strings.Join(list[:last], ", ") + " or " + list[last]
	}
	return strings.Join(list, "")
}

// example returns name, completed if it ends with a dot.
func example(name string) string {
	switch {
	case !strings.HasSuffix(name, "."):
		return name
	case hasSuffix(name, ".labels.", ".path.", ".dns_names.", ".emails.", ".ips.", ".uris."):
		return name + "0"
	}
	return name + "<name>"
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(p string) bool { return strings.HasSuffix(s, p) })
}
