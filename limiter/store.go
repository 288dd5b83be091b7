package limiter

import (
	"context"
	"net/netip"
)

// A Store keeps the authoritative counts and decides takes on them. Stores are safe for concurrent
// use and keep no reference to their arguments. Every store passes the tests of package storetest.
//
// now is by the clock of the store that is called. A store whose clock is elsewhere, as in Redis,
// ignores it.
type Store interface {
	// Take decides all takes as one: it consumes either all of them or, when one is denied, none. It
	// writes each Decision. After a denial, Decision.OK is false for the takes that were in the way,
	// and each Remaining is as if nothing had been taken. A store that asks another store need only
	// find out the first take that was in the way. No two takes may have the same rule ID and key.
	//
	// A take that the store could not decide has an error. It has a Decision only if
	// Source.WithoutStore reports true. It does not affect the other takes: they are consumed unless
	// one of them is denied. Take returns the first such error. A denial is not an error.
	Take(ctx context.Context, now Instant, takes []Take) error

	// Peek decides and fails as Take does, and consumes nothing.
	Peek(ctx context.Context, now Instant, takes []Take) error

	// Refund gives back what takes consumed. The takes were allowed as one and still have their
	// decisions. Events go back into the window that they were taken in. They are lost if it has
	// passed. A bucket gets back what it has lacked ever since: see [Count]. While a bucket has
	// promised events, only the newest promise can be given back: see [Promiser]. Refund ignores takes
	// that were denied or have no decision. A store that leases refunds a take only if the take has an
	// Origin or was decided without a lease.
	Refund(ctx context.Context, now Instant, takes []Take) error

	// Charge consumes the cost of each take at now, whatever its limit allows. The cost is what a
	// request turned out to cost beyond what it had taken. See [Count]. Charge decides nothing. An
	// error means that a part of the costs may not be consumed.
	Charge(ctx context.Context, now Instant, takes []Take) error
}

// Counts is the handle of the open counts of a zone. A rule holds it. Only the store that returned
// it can use it.
type Counts interface {
	Name() string
}

// A Take asks for events of one key under one rule.
type Take struct {
	Rule *Rule

	// Key is the key whose count is used. It may be empty.
	Key []byte

	// Cost is how many events to take, at least 1.
	Cost int64

	// Wait is for how many µs the take may wait for its turn, at most Rule.MaxWait. A token bucket
	// that has too little now then promises the first instant, within this time, at which it has
	// enough. The take is consumed at once, and Decision.Turn is that instant. Takes get their
	// turns in the order in which the store decides them. Other algorithms and leases ignore Wait.
	Wait int64

	// Client, unless it is nil, is who sends the take. Stores look at it only while they decide a take
	// whose key finds no room in its zone.
	Client Client

	// Decision is the answer of the store. Refund needs it.
	Decision Decision

	// Origin, unless it is nil, is filled in by a store that leases. A Refund after other takes needs
	// it.
	Origin *Origin

	// Err says why the store could not decide this take. Only stores that can fail write it. If
	// Decision.Source.WithoutStore reports true, Rule.OnOutage has made the Decision. Otherwise there
	// is no decision.
	Err error
}

// A Client sends takes.
type Client interface {
	// Network returns what is counted as one client: its IPv4 address, or the network of its IPv6
	// address. It is the zero Addr if the address is not known.
	Network() netip.Addr
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
