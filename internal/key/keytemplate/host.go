package keytemplate

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// readHost reads the host of the request without the port.
func readHost(r *http.Request, _ *caddy.Replacer) (string, Presence) {
	host, _ := splitHostPort(r.Host)
	return trim(host)
}

// readHostPort reads the host of the request with the port, if there is one.
func readHostPort(r *http.Request, _ *caddy.Replacer) (string, Presence) {
	host, port := splitHostPort(r.Host)
	if port != "" {
		host = net.JoinHostPort(host, port)
	}
	return trim(host)
}

// splitHostPort splits hostport. It returns the host in lower case and without dots at its end.
func splitHostPort(hostport string) (host, port string) {
	host = strings.Trim(hostport, " \t")
	if end := strings.LastIndexByte(host, ']'); end > 0 && host[0] == '[' {
		_, port, _ = strings.Cut(host[end+1:], ":")
		return address(host[1:end]), port
	}
	if strings.Contains(host, ":") { // without a colon, SplitHostPort allocates an error
		if h, p, err := net.SplitHostPort(host); err == nil {
			host, port = h, p
		}
	}
	return lower(strings.TrimRight(host, ".")), port
}

// PlainHost returns a host and its port without what keys leave out: dots at the end of the host, and
// the zone of an address. differs says that the result is another text, apart from case.
func PlainHost(hostport string) (plain string, differs bool) {
	if !strings.HasSuffix(hostport, ".") && !strings.Contains(hostport, ".:") && !strings.HasPrefix(hostport, "[") {
		return hostport, false
	}
	host, port := splitHostPort(hostport)
	switch {
	case port != "":
		plain = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		plain = "[" + host + "]"
	default:
		plain = host
	}
	return plain, !strings.EqualFold(plain, hostport)
}

// address returns the shortest form of an IPv6 address that was in the brackets of a host. It drops the
// zone, which means nothing on other machines, and which Caddy does not send to the upstream.
func address(s string) string {
	s, _, _ = strings.Cut(s, "%")
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.String()
	}
	return lower(s)
}

// lower is strings.ToLower, but faster for ASCII.
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

// lowers maps each byte of ASCII to its lower case. It maps other bytes to 0, so that lower stops at
// them.
var lowers = func() (bytes [256]byte) {
	for i := range utf8.RuneSelf {
		bytes[i] = byte(unicode.ToLower(rune(i)))
	}
	return bytes
}()

// hostLabelReader returns a reader of one label of the host. Index 0 is the last label.
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
