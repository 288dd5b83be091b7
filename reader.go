package fleetlimit

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A reader reads the value of one placeholder. The value is empty unless it is present.
type reader func(r *http.Request, repl *caddy.Replacer) (string, presence)

// presence tells whether a request has a value that every program behind the handler reads alike. Of several values, the
// greatest presence describes them all.
type presence uint8

const (
	present         presence = iota
	missing                  // the placeholder expands to nothing
	ambiguousCookie          // several cookies of the name, or one that programs read differently; browsers send such
	ambiguous                // a header or query parameter that is there twice, or that programs read differently
)

// valueOf returns a value as it counts. Spaces and tabs around it are not part of it: HTTP/2 and HTTP/3 deliver them, and
// a proxy removes them, so an upstream never sees them.
func valueOf(text string) (string, presence) {
	if text = strings.Trim(text, " \t"); text == "" {
		return "", missing
	}
	return text, present
}

// readReplacer returns a reader of what the replacer says.
func readReplacer(name string) reader {
	return func(_ *http.Request, repl *caddy.Replacer) (string, presence) {
		text, _ := repl.GetString(name)
		return valueOf(text)
	}
}

// readMethod reads the method in upper case, because many servers ignore its case.
func readMethod(r *http.Request, _ *caddy.Replacer) (string, presence) {
	return valueOf(strings.ToUpper(r.Method))
}

func readVar(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, presence) {
		return valueOf(caddy.ToString(caddyhttp.GetVar(r.Context(), name)))
	}
}

// readHost reads the host that a request is for, without its port. Names of hosts have no case, and the dot at the end
// of one only says that it is complete.
func readHost(r *http.Request, _ *caddy.Replacer) (string, presence) {
	host, _ := splitHostPort(r.Host)
	return valueOf(host)
}

// readHostPort reads the host that a request is for, with its port if it has one.
func readHostPort(r *http.Request, _ *caddy.Replacer) (string, presence) {
	host, port := splitHostPort(r.Host)
	if port == "" {
		return valueOf(host)
	}
	if rest, ok := strings.CutPrefix(r.Host, host); ok && rest == ":"+port {
		return valueOf(r.Host) // as it is already
	}
	return valueOf(net.JoinHostPort(host, port))
}

// splitHostPort returns the normalized host of hostport, and its port.
func splitHostPort(hostport string) (host, port string) {
	host = strings.Trim(hostport, " \t")
	if strings.IndexByte(host, ':') >= 0 { // else SplitHostPort allocates an error
		if h, p, err := net.SplitHostPort(host); err == nil {
			host, port = h, p
		}
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1] // of an IPv6 address without a port
	}
	return strings.ToLower(strings.TrimRight(host, ".")), port
}

// readHostLabel returns a reader of a label of the host; the last label has index 0.
func readHostLabel(index string) reader {
	i, err := strconv.Atoi(index)
	return func(r *http.Request, _ *caddy.Replacer) (string, presence) {
		host, _ := splitHostPort(r.Host)
		labels := strings.Split(host, ".")
		if err != nil || i < 0 || i >= len(labels) {
			return "", missing
		}
		slices.Reverse(labels)
		return valueOf(labels[i])
	}
}

func readRemoteHost(r *http.Request, _ *caddy.Replacer) (string, presence) {
	if isEarlyData(r) {
		return "", missing
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr // of a Unix socket
	}
	return valueOf(host)
}
