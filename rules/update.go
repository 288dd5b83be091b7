package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// updateTimeout is how long a change may take. Caddy's storage makes a node wait for some 10 s
// when another one died while it wrote.
const updateTimeout = 30 * time.Second

// A Change is what Update does.
type Change struct {
	// Expected is the number of the version that the author has seen. If it is nil, the change applies
	// to any version.
	Expected *int64

	Author, Note string

	// Apply changes a clone of the document, and replaces what it changes: see Clone. It is called
	// again when somebody else has written first. If Apply is nil, the document stays as it is.
	Apply func(*Document) error

	// Actions are the actions of the version.
	Actions []Action

	// DryRun makes Update return the version that it would write, and write nothing.
	DryRun bool
}

// A Written is a version that was written, or would be in a dry run, with its changes.
type Written struct {
	*Version
	Changes []Difference // never nil
}

// Update writes a version with a change, and puts it in force on this node before it returns. Other
// nodes learn of it from the store. It returns ErrConflict if another version than the expected one
// is in force, the error of Apply if that fails, and otherwise ErrUnavailable.
func (w *Watcher) Update(ctx context.Context, c Change) (*Written, error) {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	if err := w.begin(ctx); err != nil {
		return nil, w.unavailable(err)
	}
	defer w.end()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		if err := w.refresh(ctx); err != nil {
			return nil, err
		}
		known := w.Latest()
		v, err := w.next(known, c)
		if err != nil || c.DryRun {
			return v, err
		}
		if err = w.store.Write(ctx, v.Version, known.Number); errors.Is(err, ErrConflict) {
			sleep(ctx, rand.N(pause)) // at random, or writers on many nodes would meet again
			continue
		}
		if err != nil && !w.written(ctx, v.Version) {
			return nil, w.unavailable(err)
		}
		w.swap(Transition{From: known, To: v.Version, Actions: v.Actions})
		return v, nil
	}
}

// NotInForce returns the ErrConflict for a change that expects a version while known is in force.
func NotInForce(known *Version, expected int64) error {
	return fmt.Errorf("%w: version %d is in force, not %d", ErrConflict, known.Number, expected)
}

// next returns the version after known that makes the change c.
func (w *Watcher) next(known *Version, c Change) (*Written, error) {
	if c.Expected != nil && *c.Expected != known.Number {
		return nil, NotInForce(known, *c.Expected)
	}
	now := time.Now()
	v := &Written{Changes: []Difference{}, Version: &Version{
		Number: known.Number + 1,
		Time:   now.UTC().Truncate(time.Microsecond), // all stores keep microseconds
		Author: c.Author, Note: c.Note, Lineage: cmp.Or(known.Lineage, NewID()), Actions: c.Actions, Document: known.Document,
	}}
	if c.Apply == nil {
		return v, nil
	}
	v.Document = known.Document.Clone()
	if err := c.Apply(v.Document); err != nil {
		return nil, err
	}
	v.Document.Share(known.Document)
	v.Changes = Diff(known.Document, v.Document)
	v.Summary = summarize(v.Changes, now)
	return v, nil
}

// written reports whether the store has v although Write has failed: the answer may have been lost.
func (w *Watcher) written(ctx context.Context, v *Version) bool {
	newest, err := w.store.Latest(ctx)
	return err == nil && newest.equals(v)
}

// Rollback writes a version with the document of an older one. It does everything else as Update
// does. Version 0 has the empty document. The error is ErrNotFound when the store does not keep the
// version any more.
func (w *Watcher) Rollback(ctx context.Context, number int64, c Change) (*Written, error) {
	old, err := w.Version(ctx, number)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, err
	case err != nil:
		return nil, w.unavailable(err)
	}
	c.Note = cmp.Or(c.Note, fmt.Sprintf("rollback to version %d", number))
	c.Apply = func(d *Document) error {
		*d = *old.Document.Clone()
		return nil
	}
	return w.Update(ctx, c)
}
