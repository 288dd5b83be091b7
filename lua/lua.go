// Package lua holds the scripts that decide takes inside Redis.
//
// A script on counts is one text of several files, which run one after the other: base.lua and the algorithms that are needed,
// ask.lua, which reads what is asked, the operation, take.lua or refund.lua, and write.lua. Each algorithm is a file with the
// functions that these call:
//
//	load(value, ask)       the state as of now, from the value in the hash or from nothing; its `left` is what can be taken
//	take(state, ask)       consumes ask.cost events
//	refund(state, ask)     gives back ask.cost events that were taken at ask.taken
//	save(state, ask)       writes the state, or returns it: the value for the hash and the instant at which the key is back to
//	                       its full limit; no value when it is not kept in the hash, nothing when nothing is consumed
//	reply(state, ask, out) appends the numbers that the decision is worked out from
//
// A state is `moved` when what was consumed had to be moved to another time, because the clock was set back or the window
// has another length; that is written even when nothing is taken, so that it happens once.
//
// The scripts do what is to be atomic, and no more: whether a take is allowed, and the new state. What clients are told
// (what is left, when to retry) is worked out from the reply by package limiter, in which the rules of each algorithm are
// explained.
//
// All numbers are integers below 2^53, which Lua's doubles hold exactly; instants are microseconds since the Unix epoch.
package lua

import (
	_ "embed"

	"github.com/fleetlimit/fleetlimit/limiter"
)

var (
	//go:embed wide.lua
	wide string
	//go:embed base.lua
	base string
	//go:embed token_bucket.lua
	tokenBucket string
	//go:embed sliding_log.lua
	slidingLog string
	//go:embed sliding_window.lua
	slidingWindow string
	//go:embed fixed_window.lua
	fixedWindow string
	//go:embed ask.lua
	ask string
	//go:embed take.lua
	take string
	//go:embed refund.lua
	refund string
	//go:embed write.lua
	write string
	//go:embed announce.lua
	announce string
)

// Kinds is a set of algorithms. A script has only those that it is asked for: Redis runs all of its text each time.
type Kinds uint8

// AllKinds is how many sets there are, the empty one included.
const AllKinds = 1 << 4

// With returns the set with k in it.
func (s Kinds) With(k limiter.Kind) Kinds { return s | 1<<k }

// Take returns the script that decides takes: see take.lua.
func Take(s Kinds) string { return reading(s) + take + write }

// Refund returns the script that gives back what was taken: see refund.lua.
func Refund(s Kinds) string { return reading(s) + refund + write }

// Announce returns the script by which nodes know of each other: see announce.lua.
func Announce() string { return base + announce }

// reading returns what comes before every operation on counts: all that it stands on, and what it is asked.
func reading(s Kinds) string {
	text := wide + base
	for kind, part := range []string{
		limiter.TokenBucket:      tokenBucket,
		limiter.SlidingWindowLog: slidingLog,
		limiter.SlidingWindow:    slidingWindow,
		limiter.FixedWindow:      fixedWindow,
	} {
		if s&(1<<kind) != 0 {
			text += part
		}
	}
	return text + ask
}
