package pathpattern

import (
	"math/bits"
	"net/url"

	"github.com/fleetlimit/fleetlimit/internal/text/pathreading"
)

// A ReadingSet is a set of readings of a path, by their indices. The first is how Caddy reads it.
type ReadingSet uint16

// FirstReading is the set of the first reading.
const FirstReading ReadingSet = 1

var _ = [1]struct{}{}[pathreading.Most>>4] // a Set has room for all

// Backward yields the indices in s, the first reading last.
func (s ReadingSet) Backward(yield func(i int) bool) {
	for s != 0 {
		i := bits.Len16(uint16(s)) - 1
		if s &^= FirstReading << i; !yield(i) {
			return
		}
	}
}

// A Path is a path with its readings, and which of them patterns match. All zones and handlers of a
// request share what is found out: a client chooses how many readings there are, and an operator how
// many patterns. A Path is for one goroutine.
type Path struct {
	of      source
	read    pathreading.Path
	err     error
	matched map[ID]ReadingSet // of patterns that are not quick; nil if there is one reading
	urls    []url.URL         // of the readings, those that were asked for
}

// A source is what the readings of a path depend on.
type source struct{ path, rawPath string }

// sharedVar is the name of Caddy's variable that holds the paths of a request.
const sharedVar = "rate_limit.paths"

// Read returns the path of u. It is p, unless the path has several readings: they are found once for
// all handlers of a request, whose variables are vars. The error is why no server should get the path.
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

// Merged returns the path of a reading with one slash for several in a row.
func (p *Path) Merged(i int) string { return p.read.Readings()[i].Merged() }

// Matching returns the readings that pattern matches. Of those in use, each is asked once for a request.
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

// Put makes a reading the path of u.
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
