package keytemplate

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// readHost reads the host of the request without its port.
func readHost(r *http.Request, _ *caddy.Replacer) (string, Presence) {
	host, _ := splitHostPort(r.Host)
	return trim(host)
}

// readHostPort reads the host of the request with its port, if it has one.
func readHostPort(r *http.Request, _ *caddy.Replacer) (string, Presence) {
	host, port := splitHostPort(r.Host)
	if port != "" {
		host = net.JoinHostPort(host, port)
	}
	return trim(host)
}

// splitHostPort returns the host of hostport in lower case without the dot at its end, and the
// port.
func splitHostPort(hostport string) (host, port string) {
	host = strings.Trim(hostport, " \t")
	if strings.Contains(host, ":") { // else SplitHostPort allocates an error
		if h, p, err := net.SplitHostPort(host); err == nil {
			host, port = h, p
		}
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1] // an IPv6 address without a port
	}
	return lower(strings.TrimRight(host, ".")), port
}

// lower is strings.ToLower, faster for ASCII.
func lower(s string) string {
	i := 0
	for i < len(s) && lowers[s[i]] == s[i] {
		i++
	}
	if i == len(s) {
		return s
	}
	bytes, all := []byte(s), byte(0)
	for ; i < len(bytes); i++ {
		all |= bytes[i]
		bytes[i] = lowers[bytes[i]]
	}
	if all >= utf8.RuneSelf {
		return strings.ToLower(s)
	}
	return string(bytes)
}

// lowers has the letters of ASCII in lower case, and another byte for those outside ASCII.
var lowers = func() (bytes [256]byte) {
	for i := range utf8.RuneSelf {
		bytes[i] = byte(unicode.ToLower(rune(i)))
	}
	return bytes
}()

// hostLabelReader returns a reader of a label of the host. The last label has index 0.
func hostLabelReader(index string) reader {
	i, err := strconv.Atoi(index)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		host, _ := splitHostPort(r.Host)
		if err != nil || i < 0 || i > strings.Count(host, ".") {
			return "", Missing
		}
		for range i {
			host = host[:strings.LastIndexByte(host, '.')]
		}
		return trim(host[strings.LastIndexByte(host, '.')+1:])
	}
}

// readClientIP reads the address of the client as Caddy determines it.
func readClientIP(r *http.Request, _ *caddy.Replacer) (string, Presence) {
	address, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	return trim(notSocket(address))
}

// readRemoteHost reads the address of the peer, which may be a proxy.
func readRemoteHost(r *http.Request, _ *caddy.Replacer) (string, Presence) {
	if EarlyData(r) {
		return "", Missing
	}
	address := notSocket(r.RemoteAddr)
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return trim(address)
}

// notSocket returns address, or "" if it is the name of a Unix socket.
func notSocket(address string) string {
	if strings.HasPrefix(address, "@") || strings.HasPrefix(address, "/") {
		return ""
	}
	return address
}
