package rules

import (
	"maps"
	"sync"
)

const (
	// mostRecent is how many changes a watcher remembers.
	mostRecent = 200

	// largestRecent is how many entries such a change has at most.
	largestRecent = 1000
)

// A recentChange is what a version has changed: parts of the document before it and of its own.
type recentChange struct {
	version       *Version // without its document
	before, after *Document
}

// recentChanges are those of the versions that came into force on this node, so that its timelines need
// not read them from the store: with many entries, a document is large. The zero value has none.
type recentChanges struct {
	mu       sync.Mutex
	byNumber map[int64]*recentChange
}

// note remembers what leads from one version to the next.
func (r *recentChanges) note(from, to *Version) {
	if to.Number != from.Number+1 || from.Number > 0 && to.Lineage != from.Lineage {
		return
	}
	c := &recentChange{withoutDocument(to), new(Document), new(Document)}
	p := NewPatch(from.Document, to.Document)
	for name, z := range p.Zones {
		setZone(c.after, name, z)
		setZone(c.before, name, from.Document.Zones[name])
	}
	c.before.Overrides, c.after.Overrides = Replaced(from.Document.Overrides, p.Overrides)
	c.before.Tiers, c.after.Tiers = Replaced(from.Document.Tiers, p.Tiers)
	c.before.Access, c.after.Access = Replaced(from.Document.Access, p.Access)
	if p.Emergency != nil {
		c.before.Emergency, c.after.Emergency = from.Document.Emergency, to.Document.Emergency
	}
	if c.before.size()+c.after.size() > largestRecent {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNumber == nil {
		r.byNumber = make(map[int64]*recentChange)
	}
	r.byNumber[to.Number] = c
	if len(r.byNumber) > mostRecent {
		maps.DeleteFunc(r.byNumber, func(number int64, _ *recentChange) bool { return number <= to.Number-mostRecent })
	}
}

func setZone(d *Document, name string, z *Zone) {
	if z == nil {
		return
	}
	if d.Zones == nil {
		d.Zones = make(map[string]*Zone)
	}
	d.Zones[name] = z
}

func (d *Document) size() int { return len(d.Zones) + len(d.Overrides) + len(d.Tiers) + len(d.Access) }

// of returns the change of a version, nil if it is not remembered.
func (r *recentChanges) of(v *Version) *recentChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.byNumber[v.Number]; c != nil && c.version.is(v) {
		return c
	}
	return nil
}
