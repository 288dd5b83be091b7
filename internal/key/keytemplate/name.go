package keytemplate

import (
	"slices"
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

// maxNameLen is how long the name of a query parameter or cookie can be. The automaton of a name
// grows with the square of its length, to 0.7 MB for this one.
const maxNameLen = 100

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

// A namePattern is a name as compile reads it. It begins at position 0.
type namePattern struct {
	first byte
	ascii bool          // the name has no characters outside ASCII
	ahead []nameAhead   // at each position
	end   namePosition  // after the name
	used  map[byte]bool // the bytes of all spellings
}

// A namePosition is a place in a pattern, between two bytes of a spelling or two characters. It is
// a rune so that a set of them can be a string.
type namePosition = rune

// nameAhead is what comes next at a position.
type nameAhead struct {
	mark  bool // any byte that is no letter or digit, and then the next position
	steps []nameStep
}

// A nameStep is a byte, and the position after it.
type nameStep struct {
	c  byte
	to namePosition
}

// newNamePattern returns the pattern of a name.
func newNamePattern(name string) *namePattern {
	p := &namePattern{first: name[0], ascii: utf8.RuneCountInString(name) == len(name), used: map[byte]bool{}}
	for _, r := range name {
		p.addCharacter(r)
	}
	p.end = namePosition(len(p.ahead))
	return p
}

// addCharacter appends a character in all its spellings. Their inner positions come after the one
// before the character and before the one after it.
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
	if p.used[c] {
		b.self = int(c)
	}
	return b
}

// step returns the positions after a byte, sorted. closed reports that the name is similar whatever
// comes.
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
