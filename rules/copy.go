package rules

import (
	"context"
	"errors"
	"time"
)

// A Copy is a store that keeps the versions of another store.
type Copy interface {
	VersionStore

	// Clear removes all versions.
	Clear(ctx context.Context) error
}

const (
	// copyHeadStart is how long the store may take for its first answer before the copy is in force.
	copyHeadStart = 200 * time.Millisecond

	// copyTimeout is how long an update of the copy may take.
	copyTimeout = 5 * time.Minute

	// copyRetry is the pause after an update of the copy that has failed.
	copyRetry = time.Minute

	// mostCopied is the highest number of versions that are copied. Stores that have a copy keep no
	// more.
	mostCopied = 200
)

// startFromCopy puts the newest version of the copy in force if the store does not answer soon.
func (w *Watcher) startFromCopy() {
	defer close(w.copyTried)
	if w.options.Copy == nil {
		return
	}
	sleep(w.ctx, copyHeadStart)
	if !w.isLoaded() {
		ctx, cancel := context.WithTimeout(w.ctx, readTimeout)
		defer cancel()
		w.useCopy(ctx)
	}
}

// useCopy puts the newest version of the copy in force, unless a version is in force already or the
// store has answered.
func (w *Watcher) useCopy(ctx context.Context) {
	if w.options.Copy == nil {
		return
	}
	newest, err := w.options.Copy.Latest(ctx)
	w.do(func() {
		switch {
		case err != nil:
			w.reportCopyFailure(err)
		case newest.Number > 0 && w.Latest().Number == 0 && !w.isLoaded():
			w.putInForce(Transition{From: w.Latest(), To: newest, Incomplete: true})
			if w.options.OnCopyInForce != nil {
				w.options.OnCopyInForce(newest)
			}
		}
	})
}

// keepCopy brings the copy up to date after each version, until Close. A store that has lost its
// history gets the history back first.
func (w *Watcher) keepCopy() {
	var retry <-chan time.Time
	for failing := false; ; {
		select {
		case <-w.copied:
		case <-retry:
		case <-w.ctx.Done():
			return
		}
		retry = nil
		err := w.exchangeWithCopy()
		if err != nil && w.ctx.Err() == nil {
			if !failing {
				w.do(func() { w.reportCopyFailure(err) })
			}
			retry = time.After(copyRetry)
		}
		failing = err != nil
	}
}

func (w *Watcher) reportCopyFailure(err error) {
	if w.options.OnCopyFailure != nil {
		w.options.OnCopyFailure(err)
	}
}

func (w *Watcher) exchangeWithCopy() error {
	ctx, cancel := context.WithTimeout(w.ctx, copyTimeout)
	defer cancel()
	if w.refill.Load() {
		n, err := copyVersions(ctx, w.store, w.options.Copy)
		if err != nil {
			return err
		}
		w.refill.Store(false)
		if n > 0 && w.options.OnRefill != nil {
			w.do(func() { w.options.OnRefill(n) })
		}
	}
	kept, damage := w.options.Copy.Latest(ctx)
	newest, err := w.store.Latest(ctx)
	if err != nil || newest.Number == 0 {
		return err
	}
	if damage != nil || !newest.continues(kept) {
		err = w.options.Copy.Clear(ctx)
	}
	if err == nil {
		_, err = copyVersions(ctx, w.options.Copy, w.store)
	}
	return err
}

// continues reports whether v is the version older, or may have been written after it.
func (v *Version) continues(older *Version) bool {
	return older.Number == 0 || v.equals(older) || v.Lineage == older.Lineage && v.Number > older.Number
}

// copyVersions writes the versions that from has and to lacks to to. The newest version comes
// first, so that it is in force at once. copyVersions returns how many versions it has written.
// Another node may do the same meanwhile.
func copyVersions(ctx context.Context, to, from VersionStore) (n int, err error) {
	newest, err := to.Latest(ctx)
	if err != nil {
		return 0, err
	}
	wanted, err := from.History(ctx, 0, mostCopied)
	if err != nil || len(wanted) == 0 || newest.Number > 0 && newest.Lineage != wanted[0].Lineage {
		return 0, err
	}
	has, err := to.History(ctx, 0, mostCopied)
	if err != nil {
		return 0, err
	}
	known := make(map[int64]bool, len(has))
	for _, v := range has {
		known[v.Number] = true
	}
	after := newest.Number
	for _, v := range wanted {
		if known[v.Number] || v.Lineage != wanted[0].Lineage {
			continue
		}
		complete, err := from.Version(ctx, v.Number)
		if errors.Is(err, ErrNotFound) {
			return n, nil // it has become too old meanwhile
		}
		if err == nil {
			err = to.Write(ctx, complete, after)
		}
		if errors.Is(err, ErrConflict) {
			return n, nil // another node writes
		}
		if err != nil {
			return n, err
		}
		after = max(after, v.Number)
		n++
	}
	return n, nil
}
