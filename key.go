package fleetlimit

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/fleetlimit/fleetlimit/internal/ipset"
)

// errEarlyData says that a key would hold the address of a client that has not proved it: the request came as TLS early
// data (0-RTT), whose sender can write any source address. It is to be answered with 425 Too Early.
var errEarlyData = errors.New("the client's address is not proved before the TLS handshake is complete")

// maxKeyLen is the longest encoded key in bytes. Longer ones become a digest, so that clients cannot fill the memory with
// long keys. API keys, UUIDs and addresses are shorter.
const maxKeyLen = 64

// The first byte of an encoded key is its key space, so that keys of different origin never meet.
const (
	spaceKey     = 'k' // made by a zone's key
	spaceMissing = 'm' // made by a zone's on_missing_key
	spaceDigest  = 'd' // the SHA-256 of a key of either space that is too long
)

// The second byte of the key of a single placeholder says what follows. Templates of several placeholders mark each value.
const (
	kindText    = 't' // the value as the client sent it
	kindAddress = 'a' // a masked address, see appendPrefix
)

// templateOptions are what a zone says about its keys.
type templateOptions struct {
	// How many leading bits of an address count as one client: 0 to 32 and 0 to 128.
	ipv4Bits, ipv6Bits int

	// Also mask addresses that other placeholders than the client's address expand to.
	maskAll bool

	// The key space: spaceKey or spaceMissing.
	space byte

	// Placeholders are never missing or ambiguous, as in the zones of caddy-ratelimit: they expand to what the replacer
	// says, which is nothing, or values that occur more than once joined by commas.
	lenient bool
}

// template is a compiled key template. It is immutable.
//
// Keys are encoded so that two requests have equal keys exactly if their placeholders have equal values, whatever bytes
// clients write into them:
//
//	no placeholder     space
//	one placeholder    space kind value
//	several            space (uvarint(len(value)<<1 | masked) value)...
//
// The texts between the placeholders are the same for all keys of a template and are not part of its keys.
type template struct {
	raw     string // as written in the configuration
	options templateOptions
	parts   []keyPart
	values  []*keyValue // those of parts, in order
	address bool        // whether a value is made from the client's address
}

// keyPart is a piece of a template: a text, or a placeholder if value is not nil.
type keyPart struct {
	text  string
	value *keyValue
}

// keyValue is one placeholder of a template.
type keyValue struct {
	name string
	read reader
	mask bool // whether addresses that it expands to are masked
}

// newTemplate compiles raw, in which placeholders and escaped braces mean what they mean to Caddy's replacer. Placeholders
// that do not depend on the request, such as {env.HOME}, are expanded here and become text.
func newTemplate(raw string, o templateOptions) (*template, error) {
	if o.ipv4Bits < 0 || o.ipv4Bits > 32 {
		return nil, fmt.Errorf("an IPv4 prefix of %d bits: write 0 to 32", o.ipv4Bits)
	}
	if o.ipv6Bits < 0 || o.ipv6Bits > 128 {
		return nil, fmt.Errorf("an IPv6 prefix of %d bits: write 0 to 128", o.ipv6Bits)
	}
	pieces, err := splitTemplate(raw)
	if err != nil {
		return nil, err
	}
	t := &template{raw: raw, options: o}
	for _, p := range pieces {
		if !p.placeholder {
			t.parts = append(t.parts, keyPart{text: p.text})
			continue
		}
		text, global, err := expandGlobal(p.text)
		if err != nil && !o.lenient {
			return nil, err
		}
		if global {
			t.parts = append(t.parts, keyPart{text: text})
			continue
		}
		name := fullName(p.text)
		read := compileReader(name)
		if o.lenient {
			read = lenientReader(name)
		}
		v := &keyValue{name: name, read: read, mask: o.maskAll || isAddress(name)}
		t.parts = append(t.parts, keyPart{value: v})
		t.values = append(t.values, v)
		t.address = t.address || fromAddress(name)
	}
	return t, nil
}

// append appends the encoded key of r to dst. It does not allocate if dst has room and all placeholders are headers,
// client addresses or variables that hold strings.
//
// dst is returned unchanged unless all placeholders are present, and also with err, which is errEarlyData or nil.
func (t *template) append(dst []byte, r *http.Request, repl *caddy.Replacer) (key []byte, p presence, err error) {
	if t.address && isEarlyData(r) {
		return dst, missing, errEarlyData
	}
	key = append(dst, t.options.space)
	for _, v := range t.values {
		text, has := v.read(r, repl)
		p = max(p, has)
		if p == present {
			key = t.appendValue(key, v, text)
		}
	}
	if p != present {
		return dst, p, nil
	}
	if len(key)-len(dst) <= maxKeyLen {
		return key, present, nil
	}
	// The digest goes into dst itself, not into what the long key made it grow to.
	sum := sha256.Sum256(key[len(dst):])
	return append(append(dst, spaceDigest), sum[:]...), present, nil
}

// appendValue appends the encoding of one value.
func (t *template) appendValue(key []byte, v *keyValue, text string) []byte {
	prefix, masked := t.prefix(v, text)
	switch single := len(t.values) == 1; {
	case single && masked:
		return appendPrefix(append(key, kindAddress), prefix)
	case single:
		return append(append(key, kindText), text...)
	case masked:
		key = binary.AppendUvarint(key, uint64(prefixLen(prefix))<<1|1)
		return appendPrefix(key, prefix)
	default:
		key = binary.AppendUvarint(key, uint64(len(text))<<1)
		return append(key, text...)
	}
}

// prefix returns the masked address that v counts text as, if it does.
func (t *template) prefix(v *keyValue, text string) (p netip.Prefix, masked bool) {
	if !v.mask {
		return netip.Prefix{}, false
	}
	a, ok := ipset.ParseAddr(text)
	if !ok {
		return netip.Prefix{}, false
	}
	bits := t.options.ipv6Bits
	if a.Is4() {
		bits = t.options.ipv4Bits
	}
	p, err := a.Prefix(bits)
	return p, err == nil // newTemplate has checked the bits
}

// ipv4Mark is added to the first byte of the encoding of an IPv4 prefix. IPv6 prefixes have 0 to 128 there.
const ipv4Mark = 0xc0

// appendPrefix appends the number of bits of p, with a mark for IPv4, and the bytes that hold them.
func appendPrefix(dst []byte, p netip.Prefix) []byte {
	n := prefixLen(p) - 1
	if a := p.Addr(); a.Is4() {
		b := a.As4()
		return append(append(dst, ipv4Mark+byte(p.Bits())), b[:n]...)
	}
	b := p.Addr().As16()
	return append(append(dst, byte(p.Bits())), b[:n]...)
}

// prefixLen is how many bytes appendPrefix appends.
func prefixLen(p netip.Prefix) int { return 1 + (p.Bits()+7)/8 }

// text returns the key of r as an operator writes it: what Caddy's replacer would have said, with masked addresses as
// prefixes (2001:db8::/64) unless they are whole. Placeholders that are not present are left out.
func (t *template) text(r *http.Request, repl *caddy.Replacer) string {
	if len(t.parts) == 1 {
		return t.partText(t.parts[0], r, repl)
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(t.partText(p, r, repl))
	}
	return b.String()
}

func (t *template) partText(p keyPart, r *http.Request, repl *caddy.Replacer) string {
	if p.value == nil {
		return p.text
	}
	text, _ := p.value.read(r, repl)
	prefix, masked := t.prefix(p.value, text)
	switch {
	case !masked:
		return text
	case prefix.IsSingleIP():
		return prefix.Addr().String()
	default:
		return prefix.String()
	}
}

// usesAddress reports whether the key depends on the client's address.
func (t *template) usesAddress() bool { return t.address }

// placeholders returns the names of the placeholders that requests are asked for, without braces, in written order.
func (t *template) placeholders() []string {
	names := make([]string, len(t.values))
	for i, v := range t.values {
		names[i] = v.name
	}
	return names
}
