// Package lease decides takes on this node, from events that the store of a fleet has leased to it.
// It asks that store, its lender, only where it must. A node spends only what the lender has handed
// to it: debited events of a window, or a part of a bucket. So any number of nodes together keep
// the limit while the lender answers.
//
// # The path of a take
//
// A [Store] has zones, a [Zone] has shards, and a shard is a mutex with the accounts of its keys.
//
//	Take ──▶ account ──▶ decision                 almost always: one lock, one look-up
//	            │ lacks events
//	            ▼
//	          queue ──▶ call ──▶ lender           one request for all takes that wait for a key
//	            ▲                  │
//	            └──── reply ◀──────┘              grants a lease, serves and wakes the waiters
//
//	wheel ──▶ account ──▶ call ──▶ lender         idle leases go back, leases in use are renewed
//
// The first take of a key waits for the lender, for one round trip.
//
// An account is a pure calculator: what it may spend, when it sends a request and for how much
// (account*.go). It knows no lock. The shell has the locks, the waiting and the time:
//
//   - take.go decides a request of one take or several; wait.go has takes wait for the lender, and
//     outage.go decides what it cannot. undo.go returns what takes took when another one is denied.
//   - call.go carries lease requests to the lender; queue.go has the takes that wait for one
//     account, and reply.go answers them.
//   - janitor.go attends to accounts that no take comes for, at the time that its wheel says.
//   - charge.go and refund.go correct the count after a take; operator.go is for operators.
//
// An account with a request under way has a queue: of waiters, and of events that the lender is
// still to take back. A second request, of what takes need and nothing else, may be under way
// beside it. Takes that come then wait for the next one. A reply decides all takes that its request
// carries, so a take waits for two calls at most. Each of them is late once it has not been
// answered within the timeout of being written.
//
// A take that another zone denied puts what it has spent back into its lease. When the account does
// not hold that lease any more, it returns events of a window to the lender. Those of a part the
// lender cancels, as it was told that they are spent.
//
// Calls in the background, which nobody waits for, are bounded. When there are too many, the wheel
// comes again for debt and for expired leases, and a later take requests what else is wanted.
//
// # Admitted without the lender
//
// In an outage, and when a take is late, Rule.OnOutage decides. What it admits differs in what the
// lender hears of it:
//
//	           when                             the lender hears of it        to undo it
//	untold     the key has no account           never                         nothing
//	indebted   the lender was not asked         by the next request, as debt  reduce the debt
//	carried    a request under way carries it   by that request               its waiter leaves
//	uncertain  its request has failed           perhaps it has                nothing
//
// In all ways but the first, the local bucket of the account also gets its events back. A reply to
// the request that carries a take serves it, and so the lender has debited it, or makes it debt. If
// the request fails, the take is uncertain, or debt if the lender was not asked. See admission.
//
// # Windows and buckets
//
// A lease of a window is a number of events that expire with the window. What is not spent of it
// goes back when it expires.
//
// A lease of a bucket is a part of it: some events at once, and a share of the refill, which accrue
// from the arrival of the reply on (account_part.go). A request for a take that waits returns the
// whole part, with what was spent of it. A request in the background keeps what takes probably
// spend until the reply. A part is renewed shortly before it ends, or returned when no take comes
// for it and the bucket is short of events. What is not returned when it ends is lost. A part of
// another limit is returned at once, one of another incarnation of the lender is dropped, and one
// of a count that was reset stays.
//
// # Nothing is spent twice
//
// A request is never sent again. When it fails, its returns are lost, and so are its grants. Debt
// is what was admitted in an outage. It is told again only if the lender was certainly not asked,
// and else dropped. An account is removed when it holds no lease, no debt and no denial, or after
// all that was returned.
//
// # Clocks
//
// Leases expire by a clock of this node that never steps back. The lender decides by a clock of its
// own. An instant is by the first, a limiter.Instant by the second.
//
// # Locks
//
// A goroutine that waits for the lock of a shard holds no other lock of a shard. Under it, nothing
// outside the package is called but Lender.Refusal and functions of Options, which do not block,
// and only the wheel and the rules of a zone are locked.
package lease
