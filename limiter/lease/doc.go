// Package lease decides takes on this node, from events that the store of a fleet has leased to it.
// It asks that store, its lender, only where it must. A node spends only what the lender has
// debited, with the exception of a bounded credit. So any number of nodes together keep the limit,
// or exceed it by no more than was configured.
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
//	wheel ──▶ account ──▶ call ──▶ lender         expired leases go back, leases in use are renewed
//
// An account is a pure calculator: what it may spend, when it sends a request and for how much
// (account*.go). It knows no lock. The shell has the locks, the waiting and the time:
//
//   - take.go decides a request of one take or several; wait.go has takes wait for the lender, and
//     undo.go returns what they took when another one is denied.
//   - call.go carries lease requests to the lender and applies the replies; queue.go has the takes
//     that wait for one account.
//   - janitor.go attends to accounts that no take comes for, at the time that the wheel says.
//
// An account with a request under way has a queue: of waiters, and of events that the lender is
// still to take back. A waiter that gave up stays in the queue; what is served to it is canceled by
// the next request. A take that another zone denied puts what it has spent back into its lease, or
// returns it to the lender when the account does not hold that lease any more.
//
// Calls in the background, which nobody waits for, are bounded. When there are too many, the wheel
// comes again for debt and for expired leases, and a later take requests what else is wanted.
//
// # Nothing is spent twice
//
// A request is never sent again. When it fails, its returns are lost, and so are its grants. Only
// debt is told again, as it is told as a running total. An account is removed when it holds
// no lease, no debt and no denial, or after all that was returned.
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
