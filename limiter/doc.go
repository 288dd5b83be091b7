// Package limiter decides whether an event may happen under a limit. It is the core of Fleetlimit:
// it knows algorithms and counts, and nothing of HTTP, Caddy, Redis, loggers or clocks. It imports
// the standard library only.
//
// # Words
//
// A [Limit] is a number of events per window. A [Rule] is a limit with the [Algorithm] that
// enforces it and the identity of its counts. A [Count] is what one key has consumed under one
// rule. A [Take] is one question, and its [Decision] the answer. A [Store] keeps the counts.
//
// # Units
//
// Instants are whole microseconds since the Unix epoch, by the clock of a store ([Instant]);
// durations are whole microseconds too. Every decision takes its instant as an argument, so nothing
// in this package reads a clock. All arithmetic is on integers, with 128-bit intermediates where
// needed. It neither drifts nor overflows within the bounds that [NewRule] accepts.
//
// # Counts hold consumption
//
// A count records what was consumed and never what the limit was: limits travel with each take. So
// a changed limit applies to the very next take, and max(0, new limit - consumed) remains.
//
// # Guarantees
//
//   - A denied take changes nothing: neither its own count nor, in a take of several rules,
//     another.
//   - RetryAt is exact: the same take succeeds at that instant if nothing else is taken, and not a
//     microsecond earlier. While leases of the key are out, it is no later than the last expiry of
//     a lease, because events may be returned until then.
//   - ResetAt is exact: at that instant the key is back to its full limit, and not a microsecond
//     earlier.
//   - A clock that steps back neither blocks a key nor gives it events: see [Instant].
package limiter
