package keytemplate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A nameMatcher finds the name of a query parameter or cookie among those that clients write.
//
// Upstreams rewrite names: PHP reads `api[key` as `api_key`, Rack reads `[key]` as `key`, and Node
// drops a byte 0xA0 beside the name of a cookie. A name is similar to that of the matcher if some
// upstream may read it so. It is similar if it consists of
//
//   - any bytes that are neither a letter, a digit, `_`, `-`, `$` nor the first byte of the name;
//   - the name, in which letters have no case, and a byte that is no letter or digit stands for any
//     such byte;
//   - bytes that are no letter, digit, `_`, `-` or `$`, up to the end, a NUL or a bracket. What comes
//     after those does not matter.
//
// This holds for names after %XX is decoded. Letters are those of ASCII, but U+017F and U+212A are
// an s and a k in another case. If the name of the matcher has other characters, these are letters
// too, and all bytes outside ASCII count as letters beside it.
//
// A matcher is a deterministic automaton. It looks at each byte of a name once, and decides most
// names by their length or first byte.
type nameMatcher struct {
	name     string
	shortest int // how many bytes a similar name has at least
	start    nameState
	written  [256]nameClass // of bytes that clients write
	decoded  [256]nameClass // of bytes after %XX is decoded
	next     []nameState    // at state + class
}

// nameClass is what the bytes have in common that lead from each state to the same one.
type nameClass uint8

const (
	nameEnds    nameClass = iota // the end of a name
	nameEncoded                  // the byte may stand for another one
	nameClasses                  // the first class of the others
)

// nameState is an index in next, or the result.
type nameState uint32

const (
	otherName   nameState = iota // whatever follows
	similarName                  // whatever follows
)

// newNameMatcher returns a matcher of a name. In queries, `+` is a space.
func newNameMatcher(name string, query bool) *nameMatcher {
	m := &nameMatcher{name: name, shortest: utf8.RuneCountInString(name)}
	m.compile(newNamePattern(name))
	m.written = m.decoded
	m.written['='], m.written['%'] = nameEnds, nameEncoded
	if query {
		m.written['+'] = nameEncoded
	}
	return m
}

// similar reports whether some upstream may read s, up to its `=`, as the name.
func (m *nameMatcher) similar(s string) bool { return len(s) >= m.shortest && m.run(s) }

// run is similar for a name of any length.
func (m *nameMatcher) run(s string) bool {
	state := m.start
	for i := 0; i < len(s); i++ {
		class := m.written[s[i]]
		if class == nameEncoded {
			c, n := decode(s[i:])
			class = m.decoded[c]
			i += n - 1
		}
		next := m.next[state+nameState(class)]
		if next == state {
			continue
		}
		if next <= similarName {
			return next == similarName
		}
		state = next
	}
	return m.next[state+nameState(nameEnds)] == similarName
}

// compile makes the automaton of a pattern. Its states are the sets of positions that the bytes
// read so far can have reached.
func (m *nameMatcher) compile(p *namePattern) {
	var kinds []nameByte
	var bytes []byte // one of each kind
	for i := range m.decoded {
		kind := p.byteOf(byte(i))
		class := slices.Index(kinds, kind)
		if class < 0 {
			class = len(kinds)
			kinds, bytes = append(kinds, kind), append(bytes, byte(i))
		}
		m.decoded[i] = nameClasses + nameClass(class)
	}
	width := int(nameClasses) + len(bytes)
	m.next = make([]nameState, similarName+1)
	m.start = nameState(len(m.next))
	sets := [][]namePosition{{{}}}
	stateOf := func(set []namePosition) nameState {
		i := slices.IndexFunc(sets, func(known []namePosition) bool { return slices.Equal(known, set) })
		if i < 0 {
			i = len(sets)
			sets = append(sets, set)
		}
		return m.start + nameState(i*width)
	}
	for i := 0; i < len(sets); i++ {
		set := sets[i]
		row := make([]nameState, width)
		if slices.Contains(set, namePosition{letter: len(p.spellings)}) {
			row[nameEnds] = similarName
		}
		for class, c := range bytes {
			after, closed := p.step(set, c)
			to := &row[int(nameClasses)+class]
			switch {
			case closed:
				*to = similarName
			case len(after) > 0:
				*to = stateOf(after)
			}
		}
		m.next = append(m.next, row...)
	}
}

// A namePattern is a name as compile reads it.
type namePattern struct {
	first     byte
	ascii     bool       // the name has no characters outside ASCII
	spellings [][]string // of each character, nil: any byte that is no letter or digit
	spelled   string     // all of them together
}

// newNamePattern returns the pattern of a name.
func newNamePattern(name string) *namePattern {
	p := &namePattern{first: name[0], ascii: utf8.RuneCountInString(name) == len(name)}
	for _, r := range name {
		var spellings []string
		if r >= utf8.RuneSelf || isAlphanumeric(byte(r)) {
			spellings = append(spellings, string(r))
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				spellings = append(spellings, string(other))
			}
		}
		p.spellings = append(p.spellings, spellings)
		p.spelled += strings.Join(spellings, "")
	}
	return p
}

// A namePosition is a place in a pattern.
type namePosition struct {
	letter int    // which character comes next
	rest   string // what is left of a spelling of it that has begun
}

// nameByte is what a pattern has to know about a byte.
type nameByte struct {
	letter bool // it is a letter or a digit
	goesOn bool // after the name, it makes another name
	skips  bool // it can be before the name
	closes bool // what comes after it does not matter
	self   int  // the byte, if spellings have it
}

func (p *namePattern) byteOf(c byte) nameByte {
	b := nameByte{letter: isAlphanumeric(c) || c >= utf8.RuneSelf && !p.ascii, closes: c == 0 || c == '[' || c == ']'}
	b.goesOn = b.letter || c == '_' || c == '-' || c == '$'
	b.skips = !b.goesOn && c != p.first
	if strings.IndexByte(p.spelled, c) >= 0 {
		b.self = int(c)
	}
	return b
}

// step returns the positions after a byte. closed reports that the name is similar whatever comes.
func (p *namePattern) step(set []namePosition, c byte) (after []namePosition, closed bool) {
	b := p.byteOf(c)
	add := func(to namePosition) {
		if !slices.Contains(after, to) {
			after = append(after, to)
		}
	}
	for _, at := range set {
		if at == (namePosition{}) && b.skips {
			add(at)
		}
		switch {
		case at.letter == len(p.spellings):
			closed = closed || b.closes
			if !b.goesOn {
				add(at)
			}
		case p.spellings[at.letter] == nil:
			if !b.letter {
				add(namePosition{letter: at.letter + 1})
			}
		default:
			spellings := p.spellings[at.letter]
			if at.rest != "" {
				spellings = []string{at.rest}
			}
			for _, s := range spellings {
				switch {
				case s[0] != c:
				case len(s) > 1:
					add(namePosition{at.letter, s[1:]})
				default:
					add(namePosition{letter: at.letter + 1})
				}
			}
		}
	}
	return after, closed
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
