package keytemplate

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
)

// TextOf returns the text of a key that the template made, as Text returns it for requests with that
// key. It returns false for a digest, whose text is unknown, and for a key of another template.
//
// KeyOf returns the key of that text, but callers must check for three exceptions. KeyOf returns an
// error if the text can be split in several ways. A client may have sent a value that looks like a
// masked address, such as 192.0.2.0/24. A lenient template may have values with spaces around them.
func (t *Template) TextOf(key []byte) (text string, ok bool) {
	if len(key) == 0 || len(key) > maxKeyLen || key[0] != t.space {
		return "", false
	}
	key = key[1:]
	var b strings.Builder
	for i := range t.parts {
		p, value := &t.parts[i], t.parts[i].text
		if p.read != nil {
			if value, key, ok = t.cutValue(p, key); !ok {
				return "", false
			}
		}
		b.WriteString(value)
	}
	return b.String(), len(key) == 0
}

// IsAddress reports whether a key that the template made consists of the address of a client.
func (t *Template) IsAddress(key []byte) bool {
	return len(t.names) == 1 && len(key) > 1 && key[0] == t.space && key[1] == kindAddress
}

// IsDigest reports whether key is the digest of a longer key.
func IsDigest(key []byte) bool { return len(key) == digestLen && key[0] == spaceDigest }

// IsSubstitute reports whether key counts requests whose own key is missing. It returns false for the
// digest of such a key.
func IsSubstitute(key []byte) bool { return len(key) > 0 && key[0] == spaceSubstitute }

// cutValue returns the text of the value with which key begins, which is a value of p. rest is the rest
// of key.
func (t *Template) cutValue(p *part, key []byte) (text string, rest []byte, ok bool) {
	masked, value := false, []byte(nil)
	if len(t.names) == 1 {
		if len(key) == 0 || key[0] != kindText && key[0] != kindAddress {
			return "", nil, false
		}
		masked, value = key[0] == kindAddress, key[1:]
	} else {
		n, read := binary.Uvarint(key)
		if read <= 0 || n>>1 > uint64(len(key)-read) {
			return "", nil, false
		}
		masked, value, rest = n&1 == 1, key[read:][:n>>1], key[read:][n>>1:]
	}
	if !masked {
		return string(value), rest, true
	}
	prefix, ok := prefixIn(value)
	return ipset.Format(prefix), rest, ok && p.mask && t.bits(prefix.Addr()) == prefix.Bits()
}

// prefixIn decodes what appendPrefix has appended.
func prefixIn(encoded []byte) (netip.Prefix, bool) {
	if len(encoded) == 0 {
		return netip.Prefix{}, false
	}
	bits, size := int(encoded[0]), 16
	if bits >= ipv4Mark {
		bits, size = bits-ipv4Mark, 4
	}
	if bits > size*8 || len(encoded)-1 != (bits+7)/8 {
		return netip.Prefix{}, false
	}
	bytes := make([]byte, size)
	copy(bytes, encoded[1:])
	a, _ := netip.AddrFromSlice(bytes)
	p := netip.PrefixFrom(a, bits)
	return p, p.Masked() == p
}
