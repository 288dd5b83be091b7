package keytemplate

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
)

// maxTextLen is the length in bytes of the longest text that KeyOf splits into several values. The time
// for that grows with the square of the length.
const maxTextLen = 2048

// KeyOf returns the key of the requests for which Text returns text. Values may also be written as
// clients send them: an address without its mask, or a host in upper case. KeyOf returns an error if no
// request has such a key, or if text may be the text of several keys.
func (t *Template) KeyOf(text string) ([]byte, error) {
	key := []byte{t.space}
	if len(t.names) == 0 {
		if shared := t.sharedText(); text != shared {
			return nil, fmt.Errorf("%q is no key, because all requests have the same: use %q", text, shared)
		}
		return key, nil
	}
	values, err := t.valuesOf(text)
	if err != nil {
		return nil, err
	}
	for i := range t.parts {
		p := &t.parts[i]
		if p.read == nil {
			continue
		}
		value := values[0]
		values = values[1:]
		if prefix, is := t.prefixOf(p, value); is {
			if bits := t.bits(prefix.Addr()); bits > prefix.Bits() {
				return nil, fmt.Errorf("%q is no key, because addresses count by their first %d bits: use an address, or a "+
					"prefix of that length", value, bits)
			}
			value = prefix.Addr().String()
		}
		key = t.appendValue(key, p, value)
	}
	return bound(nil, key), nil
}

// Respells reports whether KeyOf accepts several spellings of a value as one key, although Text returns
// only one of them. It does not count spaces and tabs around a value.
func (t *Template) Respells() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		return p.mask || isHostHeader(p.name) || hasPrefix(p.name, "http.request.host", "http.request.method", cookiePrefix)
	})
}

// sharedText returns the text of the only key of a template without placeholders.
func (t *Template) sharedText() string {
	var b strings.Builder
	for i := range t.parts {
		b.WriteString(t.parts[i].text)
	}
	return b.String()
}

// prefixOf returns the prefix of addresses that value is, such as 192.0.2.0/24. It returns false if
// value is no prefix, or if p does not mask addresses.
func (t *Template) prefixOf(p *part, value string) (netip.Prefix, bool) {
	if !p.mask || !strings.Contains(value, "/") {
		return netip.Prefix{}, false
	}
	prefix, err := ipset.ParsePrefix(value)
	return prefix, err == nil
}

// valuesOf splits text into the values of the placeholders.
func (t *Template) valuesOf(text string) ([]string, error) {
	s := splitter{t: t, text: text}
	if len(t.names) > 1 {
		if len(text) > maxTextLen {
			return nil, fmt.Errorf("the key has %d bytes: use at most %d", len(text), maxTextLen)
		}
		s.known = make(map[[2]int]int)
	}
	switch s.ways(0, 0) {
	case 0:
		return nil, t.noKey(text)
	case 1:
		return s.values(), nil
	}
	return nil, fmt.Errorf("%q can be split in several ways at the texts of %s: use a text between its placeholders that "+
		"no value has", text, t.raw)
}

// noKey returns the error for a text that no key has.
func (t *Template) noKey(text string) error {
	use := "a value in place of the placeholder, and the text around it"
	switch {
	case text == "":
		return fmt.Errorf("the key is empty: use a value for %s", t.raw)
	case len(t.names) > 1:
		use = "a value in place of each placeholder, and the text around them"
	}
	return fmt.Errorf("%q is no key of %s: use %s", text, t.raw, use)
}

// A splitter finds the ways to split a text into the values of a template.
type splitter struct {
	t     *Template
	text  string
	known map[[2]int]int // results of ways, by its arguments; nil if there is one placeholder
}

// ways returns the number of ways to split the text from start into the parts from part: 0, 1, or 2 for
// any higher number.
func (s *splitter) ways(part, start int) (n int) {
	if part == len(s.t.parts) {
		if start == len(s.text) {
			return 1
		}
		return 0
	}
	at := [2]int{part, start}
	if n, found := s.known[at]; found {
		return n
	}
	for end := range s.ends(part, start) {
		if n += s.ways(part+1, end); n > 1 {
			n = 2
			break
		}
	}
	if s.known != nil {
		s.known[at] = n
	}
	return n
}

// values returns the values if there is exactly one way.
func (s *splitter) values() (values []string) {
	start := 0
	for part := range s.t.parts {
		for end := range s.ends(part, start) {
			if s.ways(part+1, end) == 0 {
				continue
			}
			if p := &s.t.parts[part]; p.read != nil {
				value, _ := p.normalize(s.text[start:end])
				values = append(values, value)
			}
			start = end
			break
		}
	}
	return values
}

// ends returns the indexes at which a part that begins at start can end.
func (s *splitter) ends(part, start int) func(yield func(int) bool) {
	p, rest := &s.t.parts[part], s.text[start:]
	return func(yield func(int) bool) {
		if p.read == nil {
			if strings.HasPrefix(rest, p.text) {
				yield(start + len(p.text))
			}
			return
		}
		first := 0
		if part == len(s.t.parts)-1 {
			first = len(rest) // the last part must reach the end of the text
		}
		for n := first; n <= len(rest); n++ {
			if s.fits(p, rest[:n]) && !yield(start+n) {
				return
			}
		}
	}
}

// fits reports whether value can be the value of p. If there are several placeholders, value has no
// spaces or tabs around it, because Text removes them.
func (s *splitter) fits(p *part, value string) bool {
	if len(s.t.names) > 1 {
		if trimmed, _ := trim(value); trimmed != value {
			return false
		}
		if isAddress(p.name) && !s.t.isAddressText(p, value) {
			return false
		}
	}
	normalize := p.normalize
	if p.name == "http.request.method" { // ToUpper changes no presence, and would run for each way
		normalize = trim
	}
	_, presence := normalize(value)
	return presence == Present || s.t.options.Lenient
}

// isAddressText reports whether value is an address, or a prefix that the template counts as one
// client.
func (t *Template) isAddressText(p *part, value string) bool {
	if prefix, is := t.prefixOf(p, value); is {
		return t.bits(prefix.Addr()) <= prefix.Bits()
	}
	_, is := ipset.ParseAddr(value)
	return is
}

// normalize returns value in the form in which the reader of the placeholder returns it.
func (p *part) normalize(value string) (string, Presence) {
	value, _ = trim(value)
	switch {
	case p.name == "http.request.method":
		value = strings.ToUpper(value)
	case strings.HasPrefix(p.name, cookiePrefix):
		value = joined(value)
	case p.name == "http.request.host", strings.HasPrefix(p.name, hostLabelPrefix):
		value, _ = splitHostPort(value)
	case p.name == "http.request.hostport", isHostHeader(p.name):
		host, port := splitHostPort(value)
		if value = host; port != "" {
			value = net.JoinHostPort(host, port)
		}
	}
	return trim(value)
}
