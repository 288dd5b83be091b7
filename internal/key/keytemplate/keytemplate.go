// Package keytemplate turns requests into keys, which decide whose count a request uses.
//
// A template is text with placeholders, such as `{http.request.header.X-Api-Key}`. Parse compiles
// it when the configuration loads. Append reads the placeholders from a request.
//
// Clients write most of what keys are made of. These rules keep a client from using the count of
// another, and from having a new count for each request:
//
//   - Two requests have the same key if and only if all placeholders have the same values. Values
//     of a template with several placeholders are prefixed with their length, so no value can
//     pretend to be two.
//   - Values are read as the upstream sees them: without spaces and tabs around them, a host in
//     lower case without the dot at its end, a method in upper case.
//   - A key is missing if a placeholder expands to nothing.
//   - A header or query parameter is ambiguous if it occurs twice, or if programs disagree about
//     its value. The same holds for cookies, but browsers send ambiguous cookies and no browser
//     sends ambiguous headers, so they have their own Presence.
//   - The client's address counts by prefix, in all its spellings, also in the headers in which
//     proxies send it. A TLS early data request (0-RTT) has no address yet, because its sender can
//     write any. A request through a Unix socket has none.
//   - A key of more than 64 bytes becomes its digest.
//   - Keys, substitutes for missing keys, and digests are in key spaces of their own.
//
// Template.Check finds templates that count something else than they seem to.
package keytemplate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
)

// ErrEarlyData reports that a key would contain an address that the client has not proved. Answer
// the request with 425 Too Early.
var ErrEarlyData = errors.New("the client's address is not proved before the TLS handshake is complete")

// EarlyData reports whether r came as TLS early data (0-RTT). Its sender has not yet shown that it
// receives at the address that it sends from.
func EarlyData(r *http.Request) bool { return r.TLS != nil && !r.TLS.HandshakeComplete }

// maxKeyLen is the longest key in bytes. It is enough for API keys, UUIDs and addresses. Longer
// keys become a digest, so that clients cannot fill the memory with them.
const maxKeyLen = 64

// The first byte of a key is its key space.
const (
	spaceKey        = 'k'
	spaceSubstitute = 'm'
	spaceDigest     = 'd' // the SHA-256 of a long key of the other spaces
	spaceClient     = 'c' // an address beside a key: see AppendClient
)

// The bounds of a template. Each request expands all of it, and KeyOf takes the longer the more
// placeholders there are.
const (
	maxTemplateLen  = 4096 // bytes
	maxPlaceholders = 16
)

// digestLen is the length of the key of a long key.
const digestLen = 1 + sha256.Size

// The second byte of the key of a single placeholder is the kind of its value. Templates with
// several placeholders mark each value.
const (
	kindText    = 't' // the value
	kindAddress = 'a' // a masked address: see appendPrefix
)

// Options configure a Template.
type Options struct {
	// The number of leading bits of an address that count as one client: 0 to 32 and 0 to 128.
	IPv4Prefix, IPv6Prefix int

	// MaskAll also masks addresses in placeholders other than the client's address.
	MaskAll bool

	// MaskHeaders also masks addresses in headers that are known to have the client's address.
	MaskHeaders bool

	// Substitute makes keys that count requests whose own key is missing. They are in a key space
	// of their own.
	Substitute bool

	// Lenient placeholders are never missing or ambiguous, as in zones of caddy-ratelimit. They
	// expand as in Caddy's replacer: to nothing, or to several values joined by commas.
	Lenient bool
}

// A Template is a compiled key template. It is immutable.
//
// The encoding of its keys is
//
//	no placeholder     space
//	one placeholder    space kind value
//	several            space (uvarint(len(value)<<1 | masked) value)...
//
// Text between placeholders is the same in all keys of a template and not part of them.
type Template struct {
	raw     string
	options Options
	space   byte
	parts   []part
	names   []string // of the placeholders
	address bool     // a placeholder is made from the client's address

	clientIP bool // a placeholder is that address as Caddy determines it
}

// A part is a text or a placeholder.
type part struct {
	text string
	name string // of a placeholder
	read reader // nil for a text
	mask bool   // addresses are masked

	global bool // a text that a placeholder expanded to when the configuration loaded
	port   bool // an address may have a port
}

// Parse compiles a template. Placeholders and escaped braces mean what they mean to Caddy's
// replacer, and the shorthands of the Caddyfile are known. Placeholders that do not depend on the
// request, such as {env.HOME}, are expanded at once; the error is ErrUnset if one is empty. Check
// finds what is correct and yet a mistake.
func Parse(raw string, o Options) (*Template, error) {
	if o.IPv4Prefix < 0 || o.IPv4Prefix > 32 {
		return nil, fmt.Errorf("ipv4_prefix is %d: use 0 to 32", o.IPv4Prefix)
	}
	if o.IPv6Prefix < 0 || o.IPv6Prefix > 128 {
		return nil, fmt.Errorf("ipv6_prefix is %d: use 0 to 128", o.IPv6Prefix)
	}
	if len(raw) > maxTemplateLen {
		return nil, fmt.Errorf("%.40q... has %d bytes: use at most %d", raw, len(raw), maxTemplateLen)
	}
	parts, err := split(raw)
	if err != nil {
		return nil, err
	}
	t := &Template{raw: raw, options: o, space: spaceKey, parts: parts}
	if o.Substitute {
		t.space = spaceSubstitute
	}
	for i := range parts {
		p := &parts[i]
		if p.name == "" {
			continue
		}
		if text, global, err := expandGlobal(p.name); err != nil && !o.Lenient {
			return nil, err
		} else if global {
			*p = part{text: text, global: true}
			continue
		}
		p.name = placeholder.Long(p.name)
		p.port = o.MaskHeaders && isAddressHeader(p.name)
		p.mask = o.MaskAll || p.port || isAddress(p.name)
		if o.Lenient {
			p.read = lenientReader(p.name)
		} else {
			p.read = newReader(p.name)
		}
		if len(t.names) == maxPlaceholders {
			return nil, fmt.Errorf("%.40q... has more than %d placeholders: use at most %[2]d", raw, maxPlaceholders)
		}
		t.names = append(t.names, p.name)
		t.address = t.address || fromAddress(p.name)
		t.clientIP = t.clientIP || p.name == clientIPName
	}
	return t, nil
}

// String returns the template as configured.
func (t *Template) String() string { return t.raw }

// Placeholders returns the names of the placeholders that depend on the request, without braces.
func (t *Template) Placeholders() []string { return slices.Clone(t.names) }

// Append appends the key of r to dst. It returns dst unchanged if the key is not present, or with
// ErrEarlyData. It does not allocate if dst has room and all placeholders are headers, client
// addresses or variables that hold strings.
func (t *Template) Append(dst []byte, r *http.Request, repl *caddy.Replacer) ([]byte, Presence, error) {
	if t.address && EarlyData(r) {
		return dst, Missing, ErrEarlyData
	}
	key, worst := append(dst, t.space), Present
	for i := range t.parts {
		p := &t.parts[i]
		if p.read == nil {
			continue
		}
		text, presence := p.read(r, repl)
		if worst = max(worst, presence); worst == Present {
			key = t.appendValue(key, p, text)
		}
	}
	if worst != Present {
		return dst, worst, nil
	}
	return bound(dst, key), Present, nil
}

// bound returns key, which begins with dst, with a long key after dst replaced by its digest. The
// digest goes into dst itself, not into the larger buffer of the long key.
func bound(dst, key []byte) []byte {
	if len(key)-len(dst) <= maxKeyLen {
		return key
	}
	sum := sha256.Sum256(key[len(dst):])
	return append(append(dst, spaceDigest), sum[:]...)
}

// appendValue appends the encoding of the value text of p.
func (t *Template) appendValue(key []byte, p *part, text string) []byte {
	prefix, masked := t.mask(p, text)
	switch single := len(t.names) == 1; {
	case single && masked:
		return appendPrefix(append(key, kindAddress), prefix)
	case single:
		return append(append(key, kindText), text...)
	case masked:
		var room [17]byte
		address := appendPrefix(room[:0], prefix)
		return append(binary.AppendUvarint(key, uint64(len(address))<<1|1), address...)
	default:
		return append(binary.AppendUvarint(key, uint64(len(text))<<1), text...)
	}
}

// mask returns the prefix that the value text of p counts as, if text is an address to be masked.
func (t *Template) mask(p *part, text string) (prefix netip.Prefix, masked bool) {
	if !p.mask {
		return netip.Prefix{}, false
	}
	a, ok := ipset.ParseAddr(text)
	if !ok && p.port {
		a, ok = parseWithPort(text)
	}
	if !ok {
		return netip.Prefix{}, false
	}
	prefix, err := a.Prefix(t.bits(a))
	return prefix, err == nil
}

// bits returns how many leading bits of a count.
func (t *Template) bits(a netip.Addr) int {
	if a.Is4() {
		return t.options.IPv4Prefix
	}
	return t.options.IPv6Prefix
}

// ipv4Mark is added to the bits of IPv4 prefixes. IPv6 prefixes have at most 128 bits.
const ipv4Mark = 0xc0

// appendPrefix appends the number of bits of p, plus ipv4Mark for IPv4, and the bytes that hold
// those bits.
func appendPrefix(dst []byte, p netip.Prefix) []byte {
	bits := byte(p.Bits())
	if p.Addr().Is4() {
		bits += ipv4Mark
	}
	dst = append(dst, bits)
	end := len(dst) + (p.Bits()+7)/8
	dst, _ = p.Addr().AppendBinary(dst)
	return dst[:end]
}

// Text returns the key of r as an operator writes it: as Caddy's replacer expands the template, but
// with masked addresses as prefixes (2001:db8::/64). Placeholders that are not present are empty.
func (t *Template) Text(r *http.Request, repl *caddy.Replacer) string {
	var b strings.Builder
	for i := range t.parts {
		p, text := &t.parts[i], t.parts[i].text
		if p.read != nil {
			text, _ = p.read(r, repl)
		}
		if prefix, masked := t.mask(p, text); masked {
			text = ipset.Format(prefix)
		}
		b.WriteString(text)
	}
	return b.String()
}

// A Value is what a request has for a placeholder. Its text is empty unless it is Present.
type Value struct {
	Placeholder string // without braces
	Text        string
	Presence    Presence
}

// Values returns the values of the placeholders in r.
func (t *Template) Values(r *http.Request, repl *caddy.Replacer) (values []Value) {
	for i := range t.parts {
		if p := &t.parts[i]; p.read != nil {
			text, presence := p.read(r, repl)
			values = append(values, Value{p.name, text, presence})
		}
	}
	return values
}

// Hash returns a hash of the text of a key, by which lines about it can be found without the key.
// It is the same in all zones, on all nodes and after a restart.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
