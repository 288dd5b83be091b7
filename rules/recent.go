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
	c := &recentChange{version: to.WithoutDocument()}
	c.before, c.after = NewPatch(from.Document, to.Document).Parts(from.Document)
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

// changeOf returns the change of a version, nil if it is not remembered.
func (r *recentChanges) changeOf(v *Version) *recentChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.byNumber[v.Number]; c != nil && c.version.equals(v) {
		return c
	}
	return nil
}
