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
	c := &recentChange{to.WithoutDocument(), new(Document), new(Document)}
	p := NewPatch(from.Document, to.Document)
	c.before.Zones, c.after.Zones = zonesOf(from.Document, p.Zones), zonesOf(to.Document, p.Zones)
	c.before.Overrides, c.after.Overrides = Replaced(from.Document.Overrides, p.Overrides)
	c.before.Tiers, c.after.Tiers = Replaced(from.Document.Tiers, p.Tiers)
	c.before.Access, c.after.Access = Replaced(from.Document.Access, p.Access)
	if p.Emergency != nil {
		c.before.Emergency, c.after.Emergency = from.Document.Emergency, to.Document.Emergency
	}
	if c.before.Entries()+c.after.Entries() > largestRecent {
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

// zonesOf returns the zones of a document that a patch changes.
func zonesOf(d *Document, patched map[string]*Zone) map[string]*Zone {
	zones := maps.Clone(d.Zones)
	maps.DeleteFunc(zones, func(name string, _ *Zone) bool { _, is := patched[name]; return !is })
	return zones
}

// changeOf returns the change of a version, nil if it is not remembered.
func (r *recentChanges) changeOf(v *Version) *recentChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.byNumber[v.Number]; c != nil && c.version.equals(v) {
		return c
	}
	return nil
}
