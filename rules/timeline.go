package rules

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Timeline is what versions did to a subject, the newest first.
type Timeline struct {
	Touches []Touch

	// Oldest is the oldest version that was looked at, 0 if there are none. Older ones are not kept, or
	// were left out.
	Oldest int64
	More   bool // some were left out
}

// Timeline looks at up to most versions, from the one in force back, for as long as ctx lasts. What
// has expired and is still in the document is in the timeline already. Its error is that of the store.
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
	after := latest.Document
	for i, v := range append([]*Version{withoutDocument(latest)}, history...) {
		if i == most || ctx.Err() != nil {
			t.More = true
			break
		}
		before, err := w.documentBefore(ctx, s, v, after)
		if errors.Is(err, ErrNotFound) {
			break // it is too old to be kept, so nobody knows what v did
		}
		if err != nil {
			if ctx.Err() != nil {
				t.More = true
				break
			}
			return t, w.unavailable(err)
		}
		t.Touches = append(t.Touches, s.touches(v, before, after)...)
		t.Oldest, after = v.Number, before
	}
	return t, nil
}

func withoutDocument(v *Version) *Version {
	without := *v
	without.Document = nil
	return &without
}

// documentBefore returns the document before a version, or a document that says the same of s.
func (w *Watcher) documentBefore(ctx context.Context, s *Subject, v *Version, after *Document) (*Document, error) {
	switch {
	case v.Number == 1:
		return new(Document), nil
	case !s.mayBeIn(v.Summary):
		return after, nil
	}
	before, err := w.store.Version(ctx, v.Number-1)
	if err != nil {
		return nil, err
	}
	return before.Document, nil
}

// mayBeIn reports whether a version with a summary may have changed anything of s. Summaries name the
// first changes alone, and no keys.
func (s *Subject) mayBeIn(summary string) bool {
	if summary == "" {
		return false // it has actions, or nothing
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

// expired returns the entries of a version that are over at now, and have not been removed yet.
func (s *Subject) expired(v *Version, now time.Time) (all []Touch) {
	after := v.Document.Clone()
	after.DropExpired(now)
	for _, t := range s.touches(&Version{Time: now, Author: ExpiryAuthor}, v.Document, after) {
		if t.Did == Expired {
			all = append(all, t)
		}
	}
	return all
}
