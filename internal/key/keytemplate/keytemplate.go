// Package keytemplate turns requests into keys, which decide whose count a request uses.
//
// A template is text with placeholders, such as `{http.request.header.X-Api-Key}`. Parse compiles
// it when the configuration loads. Append reads the placeholders from a request.
//
// Clients write most of what is in a key. These rules keep a client from using the count of another
// client, and from getting a new count for each request:
//
//   - Two requests have the same key if and only if all placeholders have the same values. Values
//     of a template with several placeholders are prefixed with their length, so no value can
//     pretend to be two.
//   - Values are read as the upstream sees them: without spaces and tabs around them, a host in
//     lower case without the dot at its end, a method in upper case.
//   - A key is missing if a placeholder expands to nothing.
//   - A header or query parameter is ambiguous if it occurs twice, or if programs disagree about
//     its value. A cookie is ambiguous in the same cases. Ambiguous cookies have a Presence of their
//     own, because browsers send them, and do not send ambiguous headers.
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

// ErrEarlyData says that a key would contain an address that the client has not proved. The handler
// answers the request with 425 Too Early.
var ErrEarlyData = errors.New("the client's address is not proved before the TLS handshake is complete")

// EarlyData reports whether r came as TLS early data (0-RTT). The sender of early data has not proved
// that it receives packets at the address from which it sends.
func EarlyData(r *http.Request) bool { return r.TLS != nil && !r.TLS.HandshakeComplete }

// maxKeyLen is the length of the longest key in bytes. It suffices for API keys, UUIDs and addresses. A
// longer key is replaced by its digest, so that clients cannot fill the memory.
const maxKeyLen = 64

// The first byte of a key is its key space.
const (
	spaceKey        = 'k'
	spaceSubstitute = 'm'
	spaceDigest     = 'd' // the SHA-256 of a long key of another key space
	spaceClient     = 'c' // an address; AppendClient makes these keys
)

// The bounds of a template. Each request expands the whole template, and KeyOf takes longer with each
// placeholder.
const (
	maxTemplateLen  = 4096 // bytes
	maxPlaceholders = 16
)

// digestLen is the length in bytes of the digest of a key, with its key space.
const digestLen = 1 + sha256.Size

// The second byte of a key with one placeholder is the kind of the value. Keys with several
// placeholders have a mark in each value instead.
const (
	kindText    = 't' // the value follows
	kindAddress = 'a' // a masked address follows: see appendPrefix
)

// Options configure a Template.
type Options struct {
	// IPv4Prefix and IPv6Prefix are the numbers of leading bits of an address that count as one client:
	// 0 to 32, and 0 to 128.
	IPv4Prefix, IPv6Prefix int

	// MaskAll also masks addresses in placeholders other than the client's address.
	MaskAll bool

	// MaskHeaders also masks addresses in addressHeaders.
	MaskHeaders bool

	// Substitute makes keys for requests whose own key is missing. They are in another key space than
	// other keys.
	Substitute bool

	// Lenient makes placeholders that are never missing or ambiguous, as in zones of caddy-ratelimit.
	// They expand as in Caddy's replacer: to nothing, or to several values joined by commas.
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
// Text between placeholders is not in keys, because it is equal in all keys of a template.
type Template struct {
	raw     string
	options Options
	space   byte
	parts   []part
	names   []string // of the placeholders, in order
	address bool     // a placeholder contains the client's address

	clientIP bool // a placeholder is the client's address as Caddy determines it
}

// A part is a text or a placeholder.
type part struct {
	text string
	name string // of a placeholder; "" for a text
	read reader // nil for a text
	mask bool   // the template masks addresses in its values

	global bool // the text was a placeholder that does not depend on the request
	port   bool // addresses in its values may have a port
}

// Parse compiles a template. Placeholders and escaped braces mean what they mean in Caddy's replacer,
// and Parse knows the shorthands of the Caddyfile. Parse expands placeholders that do not depend on the
// request, such as {env.HOME}; it returns ErrUnset if one of them is empty. Check finds templates that
// are valid but mistaken.
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

// String returns the template as it is in the configuration.
func (t *Template) String() string { return t.raw }

// Placeholders returns the names of the placeholders that depend on the request, in order and without
// braces.
func (t *Template) Placeholders() []string { return slices.Clone(t.names) }

// Append appends the key of r to dst. It returns dst unchanged if the presence of the key is not
// Present, and if it returns ErrEarlyData. It does not allocate if dst has room and all placeholders
// are headers, client addresses or variables with strings as values.
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

// bound replaces the key after dst by its digest if that key is too long. key begins with dst. bound
// appends the digest to dst itself, not to the larger buffer of the long key.
func bound(dst, key []byte) []byte {
	if len(key)-len(dst) <= maxKeyLen {
		return key
	}
	sum := sha256.Sum256(key[len(dst):])
	return append(append(dst, spaceDigest), sum[:]...)
}

// appendValue appends the encoding of text, the value of p.
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

// mask returns the prefix as which text, the value of p, counts. masked is false if text is no address,
// or if p does not mask addresses.
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

// bits returns the number of leading bits of a that count.
func (t *Template) bits(a netip.Addr) int {
	if a.Is4() {
		return t.options.IPv4Prefix
	}
	return t.options.IPv6Prefix
}

// ipv4Mark is added to the number of bits in a prefix of IPv4. It is larger than the 128 bits of the
// longest prefix of IPv6.
const ipv4Mark = 0xc0

// appendPrefix appends the number of bits of p, with ipv4Mark for IPv4, and the bytes that contain
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

// Text returns the text of the key of r, as an operator writes it: the template as Caddy's replacer
// expands it, but with masked addresses as prefixes (2001:db8::/64). Placeholders that are not Present
// expand to nothing.
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

// A Value is the value of a placeholder in a request. Text is "" unless Presence is Present.
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

// Hash returns a hash of the text of a key, by which an operator finds the key in logs that do not have
// its text. The hash is equal in all zones, on all nodes and after a restart.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
