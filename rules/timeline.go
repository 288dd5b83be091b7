package rules

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Timeline lists what versions did to a subject, the newest first.
type Timeline struct {
	Touches []Touch

	// Oldest is the number of the oldest version that was looked at, or 0 if there was none. Older
	// versions are not kept, or were left out.
	Oldest int64
	More   bool // some versions were left out
}

// Timeline returns what versions did to s. It looks at up to most versions, from the one in force
// back, until ctx ends. The timeline also has the expiries that no version has recorded yet. The
// error is that of the store.
func (w *Watcher) Timeline(ctx context.Context, s *Subject, most int) (t Timeline, err error) {
	latest := w.Latest()
	t.Touches = s.expired(latest, time.Now())
	if latest.Number == 0 {
		return t, nil
	}
	history, err := w.store.History(ctx, latest.Number, most)
	if err != nil {
		return t, w.unavailable(err)
	}
	r := &timelineReader{w, s, latest.Document}
	for i, v := range append([]*Version{latest.WithoutDocument()}, history...) {
		if i == most || ctx.Err() != nil {
			t.More = true
			break
		}
		touches, err := r.read(ctx, v)
		if errors.Is(err, ErrNotFound) {
			break // the version before it is not kept any more, so nobody knows what v did
		}
		if err != nil && ctx.Err() == nil {
			return t, w.unavailable(err)
		}
		if t.More = err != nil; t.More {
			break
		}
		t.Touches, t.Oldest = append(t.Touches, touches...), v.Number
	}
	return t, nil
}

// A timelineReader reads what versions did to a subject, the newest first.
type timelineReader struct {
	watcher  *Watcher
	subject  *Subject
	document *Document // that of the version that is read next, or one that says the same of the subject; nil if it is not read yet
}

// read returns what v did. Calls go from the newest version to older ones. read reads documents
// from the store only if it has to.
func (r *timelineReader) read(ctx context.Context, v *Version) ([]Touch, error) {
	if c := r.watcher.recent.changeOf(v); c != nil {
		r.document = nil
		return r.subject.touches(v, c.before, c.after), nil
	}
	if !r.subject.mayBeIn(v.Summary) {
		return r.subject.touches(v, new(Document), new(Document)), nil
	}
	after := r.document
	if after == nil {
		complete, err := r.watcher.Version(ctx, v.Number)
		if err != nil {
			return nil, err
		}
		after = complete.Document
	}
	before, err := r.watcher.Version(ctx, v.Number-1)
	if err != nil {
		return nil, err
	}
	r.document = before.Document
	return r.subject.touches(v, before.Document, after), nil
}

// mayBeIn reports whether a version with a summary may have changed anything of s. Summaries name
// the first changes alone, and no keys.
func (s *Subject) mayBeIn(summary string) bool {
	if summary == "" {
		return false // the version has only actions, or nothing
	}
	if strings.Contains(summary, "; and ") {
		return true
	}
	for _, list := range []string{"zones." + s.Zone, "zones[", "overrides", "tiers", "access", "emergency"} {
		if strings.Contains(summary, list) {
			return true
		}
	}
	return false
}

// expired returns touches about entries of a version that have expired at now, but have not been
// removed yet.
func (s *Subject) expired(v *Version, now time.Time) (all []Touch) {
	after := v.Document.Clone()
	after.dropExpired(now)
	for _, t := range s.touches(&Version{Time: now, Author: ExpiryAuthor}, v.Document, after) {
		if t.Did == Expired {
			all = append(all, t)
		}
	}
	return all
}
