package rules

import (
	"maps"
	"sync"
)

const (
	// mostRecent is how many changes a watcher remembers.
	mostRecent = 200

	// largestRecent is the highest number of entries and zones in a change that a watcher remembers.
	largestRecent = 1000
)

// A recentChange is what a version has changed: parts of the document before it and of its own.
type recentChange struct {
	version       *Version // without its document
	before, after *Document
}

// recentChanges has the changes of versions that came into force on this node. So its timelines
// need not read these versions from the store, where a document with many entries is large. The
// zero value has no changes.
type recentChanges struct {
	mu       sync.Mutex
	byNumber map[int64]*recentChange
}

// note remembers the change between two versions, if no version is between them.
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

// changeOf returns the change of a version, or nil if it is not remembered.
func (r *recentChanges) changeOf(v *Version) *recentChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.byNumber[v.Number]; c != nil && c.version.equals(v) {
		return c
	}
	return nil
}
