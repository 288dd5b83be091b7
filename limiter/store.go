package limiter

import "context"

// A Store keeps the authoritative counts and decides takes on them. Stores are safe for concurrent use, and do not touch
// what they are called with once they have returned. Package storetest holds the tests that every store passes.
type Store interface {
	// Take decides all takes as one: when each of them is allowed, all are consumed; when any is not, none is. The
	// answers are written to their Decision fields; on a denial, Decision.OK tells which of them were in the way, and
	// each Remaining is as if nothing had been asked. No two takes may have the same rule ID and key.
	//
	// A take that the store could not decide has an error, and no Decision; a denial is not an error. It changes nothing for the
	// others: when one of them is denied, nothing is consumed, else they are. The first such error is returned.
	Take(ctx context.Context, now Instant, takes []Take) error

	// Peek decides as Take does, and fails as Take does, and consumes nothing.
	Peek(ctx context.Context, now Instant, takes []Take) error

	// Refund gives back what takes consumed, which were allowed as one and hold the answers to that: into the windows it came
	// from, or nowhere when those have passed; to a bucket, what it has lacked ever since. See [Count]. A take that was denied,
	// or never asked, as a zero Decision says, has consumed nothing and gets nothing back.
	Refund(ctx context.Context, now Instant, takes []Take) error
}

// A Zone is the handle of a zone that a store has open; a rule holds it. Other stores do not know it.
type Zone interface {
	Name() string
}

// A Take asks for events of one key under one rule.
type Take struct {
	Rule *Rule

	// Key is whose count is used. The store keeps no reference to it. An empty key is valid.
	Key []byte

	// Cost is how many events to take, at least 1.
	Cost int64

	// Decision is the answer. Stores overwrite it, and refund by it.
	Decision Decision

	// Err says why the store could not decide this take; nil when it did. Stores that can fail overwrite it.
	Err error
}

// FirstError returns the error of the first take that has one.
func FirstError(takes []Take) error {
	for i := range takes {
		if err := takes[i].Err; err != nil {
			return err
		}
	}
	return nil
}
