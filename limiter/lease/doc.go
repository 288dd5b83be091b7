// Package lease decides takes on this node, from events that the store of a fleet has leased to it.
// It asks that store, its lender, only where it must. A node spends only what the lender has handed
// to it: debited events of a window, or a part of a bucket. So any number of nodes together keep
// the limit while the lender answers.
//
// # The path of a take
//
// A [Store] has the [Accounts] of zones. They have shards, and a shard is a mutex with the accounts of its keys.
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
// An account is a pure calculator. It knows no lock and no lender:
//
//   - account.go: what it knows and holds, and how it decides a take
//   - account_lease.go: leases of both kinds, in account_window.go and account_part.go
//   - account_request.go: its lease requests, and what it learns from the replies
//   - account_denial.go: the denial that it remembers
//   - account_busy.go: what it asks for a key that gets far more takes than its limit admits
//   - account_remaining.go: what clients are told
//   - account_outage.go: the local bucket, which decides in an outage, and the debt: what it admitted
//     then, and the lender is to hear of
//
// The shell has the locks, the waiting and the time:
//
//   - store.go and accounts.go: where the accounts are
//   - take.go: one take or several, decided together; undo.go: what is given back when one is denied
//   - wait.go: how takes wait for the lender; turn.go: those that may wait for their turn
//   - outage.go: takes that the lender cannot decide
//   - call.go: a call to the lender; queue.go: what waits for it; reply.go: what its reply does
//   - janitor.go: accounts that no take comes for, and the wheel that says when they are due
//   - cost.go: what a take cost after all; operator.go: what operators change
//   - drain.go: how a zone is closed
//
// # Requests and replies
//
// An account with a request under way has a queue: of waiters, and of events that the lender is
// still to take back. A second request may be under way beside it, of what takes need and nothing
// else. Takes that come then wait for the next one. A reply decides all takes that its request
// carries, so a take waits for two calls at most. It is late once one of them has not been answered
// within the timeout of being written.
//
// A take that another zone denied puts what it has spent back into its lease. If the account does
// not hold that lease any more, the lender gets the events. Those of a window are returned to it.
// Those of a part are canceled, as it was told that they are spent.
//
// Calls in the background, which nobody waits for, are bounded. When there are too many, the wheel
// comes again for debt and for expired leases. What else is wanted, a later take requests.
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
// To undo any of them but the first, the local bucket of the account also gets the events back. A
// carried take becomes one of the others with the reply: it is debited if the reply serves it, and
// indebted if not. If its request fails, it is uncertain, or indebted if the lender was not asked.
// See admission.
//
// # Windows and buckets
//
// A lease of a window is a number of events that expire with the window. What is not spent of it
// goes back when it expires.
//
// A lease of a bucket is a part of it: some events at once, and a share of the refill, which accrue
// from the arrival of the reply on. A request for a take that waits returns the whole part, and says
// what was spent of it. A request in the background keeps what takes probably spend until the reply.
// A part is renewed shortly before it ends. It is returned when no take comes for it and the bucket
// is short of events. What is not returned when it ends is lost. A part of another limit is returned
// at once. A part of another incarnation of the lender is dropped. A part of a count that was reset
// stays.
//
// # Nothing is spent twice
//
// A request is never sent again. When it fails, its returns are lost, and so are its grants. Debt is
// told again only if the lender was certainly not asked, and else dropped. An account is removed
// when it holds no lease, no debt and no denial, or after all that was returned.
//
// # Clocks
//
// Leases expire by a clock of this node that never steps back. The lender decides by a clock of its
// own. An instant is by the first, a limiter.Instant by the second. As either may be wrong by 200
// ppm, leases expire a little earlier than the lender says.
//
// # Locks
//
// A goroutine that waits for the lock of a shard holds no other lock of a shard. Under it, only the
// wheel and the rules of a zone are locked. Nothing outside the package is called but Lender.Refusal
// and functions of Options, which do not block.
package lease
