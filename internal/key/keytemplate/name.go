package keytemplate

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A nameMatcher finds one name among the names of query parameters or cookies that a client writes.
//
// Upstreams rewrite names: PHP reads `api[key` as `api_key`, Rack reads `[key]` as `key`, and Node
// drops a byte 0xA0 before or after the name of a cookie. A client's name is similar to the matcher's
// name if some upstream may read it as the matcher's name. A similar name consists of three parts:
//
//   - any bytes except letters, digits, `_`, `-`, `$` and the first byte of the matcher's name;
//   - the matcher's name, in which letters have any case, and each byte that is no letter or digit
//     may be any other such byte;
//   - any bytes except letters, digits, `_`, `-` and `$`, up to the end, a NUL or a bracket. What
//     follows a NUL or a bracket does not matter.
//
// All this is about names in which %XX is decoded. Letters are those of ASCII, and U+017F and U+212A,
// which are another case of s and k. If the matcher's name has other characters, they are letters too,
// and so are all bytes outside ASCII.
//
// The matcher is a deterministic automaton. It looks at each byte of a client's name once, and decides
// most names by their length or their first byte.
type nameMatcher struct {
	name     string
	shortest int // length of the shortest similar name, in bytes
	start    nameState
	written  [256]nameClass // of a byte that a client has written
	decoded  [256]nameClass // of a byte after %XX is decoded
	next     []nameState    // the next state, at index state + class
}

// maxNameLen is the length in bytes of the longest name of a query parameter or cookie. An automaton
// grows with the square of that length, up to 0.7 MB.
const maxNameLen = 100

// A nameClass is a class of bytes that lead from each state to one next state.
type nameClass uint8

const (
	nameEnds    nameClass = iota // the end of a name
	nameEncoded                  // the byte may stand for another one
	nameClasses                  // the first class of bytes that stand for themselves
)

// A nameState is the index of a state in next, or a result.
type nameState uint32

const (
	otherName   nameState = iota // the name is not similar, whatever follows
	similarName                  // the name is similar, whatever follows
)

// newNameMatcher returns a matcher of name. query says that names are in a query, where `+` is a space.
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

// similar reports whether some upstream may read the name in s, which ends at the first `=`, as the
// matcher's name.
func (m *nameMatcher) similar(s string) bool { return len(s) >= m.shortest && m.run(s) }

// run is similar without the check of the length.
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

// compile makes the automaton of a pattern. Each of its states is a set of positions in the pattern
// that the bytes read so far may have reached.
func (m *nameMatcher) compile(p *namePattern) {
	var kinds []nameByte
	var bytes []byte // one byte of each kind
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
	sets := []string{string(namePosition(0))}
	states := map[string]nameState{sets[0]: m.start}
	for i := 0; i < len(sets); i++ {
		set := []namePosition(sets[i])
		row := make([]nameState, width)
		if slices.Contains(set, p.end) {
			row[nameEnds] = similarName
		}
		for class, c := range bytes {
			after, closed := p.step(set, c)
			to := &row[int(nameClasses)+class]
			if closed {
				*to = similarName
				continue
			}
			if len(after) == 0 {
				continue
			}
			reached := string(after)
			if _, known := states[reached]; !known {
				states[reached] = m.start + nameState(len(sets)*width)
				sets = append(sets, reached)
			}
			*to = states[reached]
		}
		m.next = append(m.next, row...)
	}
}

// A namePattern is a name in all its spellings, as a graph of positions. Position 0 is the start.
type namePattern struct {
	first byte
	ascii bool          // the name has no characters outside ASCII
	ahead []nameAhead   // by position
	end   namePosition  // the position after the name
	used  map[byte]bool // the bytes that are in any spelling
}

// A namePosition is a position in a pattern, between two bytes. It is a rune so that a set of positions
// can be a string, and so the key of a map.
type namePosition = rune

// nameAhead says which bytes may follow a position, and to which positions they lead.
type nameAhead struct {
	mark  bool // any byte that is no letter or digit leads to the next position
	steps []nameStep
}

// A nameStep is a byte and the position to which it leads.
type nameStep struct {
	c  byte
	to namePosition
}

// newNamePattern returns the pattern of name.
func newNamePattern(name string) *namePattern {
	p := &namePattern{first: name[0], ascii: utf8.RuneCountInString(name) == len(name), used: map[byte]bool{}}
	for _, r := range name {
		p.addCharacter(r)
	}
	p.end = namePosition(len(p.ahead))
	return p
}

// addCharacter appends a character in all its spellings. The positions inside a spelling come after the
// position before the character, and before the position after it.
func (p *namePattern) addCharacter(r rune) {
	before := len(p.ahead)
	p.ahead = append(p.ahead, nameAhead{})
	if r < utf8.RuneSelf && !isAlphanumeric(byte(r)) {
		p.ahead[before].mark = true
		return
	}
	spellings := []string{string(r)}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		spellings = append(spellings, string(other))
	}
	inner := 0
	for _, s := range spellings {
		inner += len(s) - 1
	}
	after := before + 1 + inner
	for _, s := range spellings {
		at := before
		for i := range len(s) {
			p.used[s[i]] = true
			to := after
			if i < len(s)-1 {
				to = len(p.ahead)
				p.ahead = append(p.ahead, nameAhead{})
			}
			p.ahead[at].steps = append(p.ahead[at].steps, nameStep{s[i], namePosition(to)})
			at = to
		}
	}
}

// A nameByte has the properties of a byte that matter to a pattern.
type nameByte struct {
	letter bool // the byte is a letter or a digit
	goesOn bool // after the name, the byte makes it another name
	skips  bool // the byte may come before the name
	closes bool // after the name, the byte ends the comparison
	self   int  // the byte, if a spelling has it; otherwise 0
}

func (p *namePattern) byteOf(c byte) nameByte {
	b := nameByte{letter: isAlphanumeric(c) || c >= utf8.RuneSelf && !p.ascii, closes: c == 0 || c == '[' || c == ']'}
	b.goesOn = b.letter || c == '_' || c == '-' || c == '$'
	b.skips = !b.goesOn && c != p.first
	if p.used[c] {
		b.self = int(c)
	}
	return b
}

// step returns the positions to which c leads from the positions in set, sorted. closed says that the
// name is similar, whatever follows.
func (p *namePattern) step(set []namePosition, c byte) (after []namePosition, closed bool) {
	b := p.byteOf(c)
	for _, at := range set {
		if at == 0 && b.skips {
			after = append(after, at)
		}
		if at == p.end {
			closed = closed || b.closes
			if !b.goesOn {
				after = append(after, at)
			}
			continue
		}
		if p.ahead[at].mark && !b.letter {
			after = append(after, at+1)
		}
		for _, step := range p.ahead[at].steps {
			if step.c == c {
				after = append(after, step.to)
			}
		}
	}
	slices.Sort(after)
	return slices.Compact(after), closed
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
