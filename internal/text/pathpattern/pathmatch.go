package pathpattern

import (
	"math/bits"
	"net/url"

	"github.com/fleetlimit/fleetlimit/internal/text/pathreading"
)

// A ReadingSet is a set of readings of a path, by their indexes. The first reading is the one of Caddy.
type ReadingSet uint16

// FirstReading is the set with only the first reading.
const FirstReading ReadingSet = 1

var _ = [1]struct{}{}[pathreading.Most>>4] // does not compile if a ReadingSet has too few bits

// Backward yields the indices in s, the first reading last.
func (s ReadingSet) Backward(yield func(i int) bool) {
	for s != 0 {
		i := bits.Len16(uint16(s)) - 1
		if s &^= FirstReading << i; !yield(i) {
			return
		}
	}
}

// A Path is a path with its readings, and has the readings that patterns match. The handlers and zones
// of one request share it, so each pattern is matched once: a client chooses the number of readings,
// and an operator the number of patterns. A Path is for one goroutine.
type Path struct {
	of      source
	read    pathreading.Path
	err     error
	matched map[ID]ReadingSet // by pattern, without quick patterns; nil if the path has one reading
	urls    []url.URL         // by reading; with an empty Path until Put has needed it
}

// A source is the input from which the readings of a path are found.
type source struct{ path, rawPath string }

// sharedVar is the name of the variable of Caddy that has the paths of a request.
const sharedVar = "rate_limit.paths"

// Read finds the readings of the path of u. If there is one reading, Read sets p and returns it. If
// there are several, it returns a Path that all handlers of the request share, through its variables
// vars. The error says why no server should get the path.
func (p *Path) Read(u *url.URL, vars map[string]any) (*Path, error) {
	of := source{u.Path, u.RawPath}
	shared, _ := vars[sharedVar].([]*Path)
	for _, s := range shared {
		if s.of == of {
			return s, s.err
		}
	}
	read, err := pathreading.Read(u)
	if err == nil && len(read.Readings()) == 1 {
		p.of, p.read = of, read
		return p, nil
	}
	several := &Path{of: of, read: read, err: err, matched: make(map[ID]ReadingSet)}
	if vars != nil {
		vars[sharedVar] = append(shared, several)
	}
	return several, err
}

// All returns all readings.
func (p *Path) All() ReadingSet { return FirstReading<<len(p.read.Readings()) - 1 }

// Merged returns the path of a reading with one slash in place of several in a row.
func (p *Path) Merged(i int) string { return p.read.Readings()[i].Merged() }

// Matching returns the readings that pattern matches. A pattern that is not quick is matched once per
// path.
func (p *Path) Matching(pattern *Pattern) (s ReadingSet) {
	if p.matched == nil || pattern.Quick() {
		return p.match(pattern)
	}
	s, known := p.matched[pattern.ID()]
	if !known {
		s = p.match(pattern)
		p.matched[pattern.ID()] = s
	}
	return s
}

func (p *Path) match(pattern *Pattern) (s ReadingSet) {
	readings := p.read.Readings()
	for i := range readings {
		if pattern.Match(&readings[i]) {
			s |= FirstReading << i
		}
	}
	return s
}

// Put sets the path of u to reading i.
func (p *Path) Put(i int, u *url.URL) {
	if i == 0 {
		u.Path, u.RawPath = p.of.path, p.of.rawPath
		return
	}
	if p.urls == nil {
		p.urls = make([]url.URL, len(p.read.Readings()))
	}
	made := &p.urls[i]
	if made.Path == "" {
		p.read.Put(&p.read.Readings()[i], made)
	}
	u.Path, u.RawPath = made.Path, made.RawPath
}
