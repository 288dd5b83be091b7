package rules

import (
	"errors"
	"math/rand/v2"
	"time"
)

// ExpiryAuthor is the author of versions from which a node has removed what had expired.
const ExpiryAuthor = "expiry"

const (
	// expirySpread is the longest time between an expiry and the version about it. Each node waits for
	// a random part of that time, and the first one writes the version.
	expirySpread = 2 * time.Second

	// expiryPause is the least time between two such versions: many entries that expire one after
	// the other must not fill the history.
	expiryPause = 30 * time.Second
)

var errNothingExpired = errors.New("rules: nothing has expired")

// recordExpiries writes a version when entries or the emergency have expired, so that the history
// shows it. They have no effect from the instant at which they expire, even if the version comes
// later.
func (w *Watcher) recordExpiries() {
	pause := time.Duration(0) // after a failure
	for {
		var due <-chan time.Time
		if at, found := w.nextExpiry(); found {
			due = time.After(max(time.Until(at), pause) + rand.N(expirySpread))
		}
		select {
		case <-due:
		case <-w.changed:
			continue
		case <-w.ctx.Done():
			return
		}
		_, err := w.Update(w.ctx, Change{Author: ExpiryAuthor, Apply: func(d *Document) error {
			now := time.Now()
			if at, found := d.earliestExpiry(); !found || now.Before(at) {
				return errNothingExpired
			}
			d.dropExpired(now)
			return nil
		}})
		if pause = 0; err != nil {
			pause = defaultPoll
		}
	}
}

// nextExpiry returns the instant at which the next version of recordExpiries is due.
func (w *Watcher) nextExpiry() (at time.Time, found bool) {
	v := w.Latest()
	at, found = v.Document.earliestExpiry()
	if v.Author == ExpiryAuthor && at.Before(v.Time.Add(expiryPause)) {
		at = v.Time.Add(expiryPause)
	}
	return at, found
}

// earliestExpiry returns the earliest instant at which an entry or the emergency expires.
func (d *Document) earliestExpiry() (earliest time.Time, found bool) {
	consider := func(at *time.Time) {
		if at != nil && (!found || at.Before(earliest)) {
			earliest, found = *at, true
		}
	}
	eachExpiry(d.Overrides, consider)
	eachExpiry(d.Tiers, consider)
	eachExpiry(d.Access, consider)
	if d.Emergency != nil {
		consider(d.Emergency.ExpiresAt)
	}
	return earliest, found
}

func eachExpiry[E ListEntry](entries []E, f func(*time.Time)) {
	for _, e := range entries {
		f(e.Common().ExpiresAt)
	}
}
