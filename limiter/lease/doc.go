// Package lease decides takes on this node from events that the store of a fleet has leased to the
// node. The package calls this store the lender, and asks it only when the leases do not suffice.
// A node spends only what the lender has handed to it: debited events of a window, or a part of a
// bucket. So any number of nodes together keep the limit while the lender answers.
//
// # The path of a take
//
// A [Store] has the [Accounts] of each zone, in shards. A shard is a mutex with the accounts of its
// keys.
//
//	Take ──▶ account ──▶ decision                 almost always: one lock, one look-up
//	            │ lacks events
//	            ▼
//	          queue ──▶ call ──▶ lender           one request for all takes that wait for a key
//	            ▲                  │
//	            └──── reply ◀──────┘              grants a lease, serves and wakes the waiters
//
//	wheel ──▶ account ──▶ call ──▶ lender         returns idle leases, renews leases in use
//
// The first take of a key waits for the lender, for one round trip.
//
// An account is a pure calculator. It knows no lock and no lender:
//
//   - account.go: what an account knows and holds, and how it decides a take
//   - account_lease.go: leases of both kinds: those of account_window.go and of account_part.go
//   - account_request.go: lease requests, and what an account learns from the replies
//   - account_denial.go: the remembered denial
//   - account_busy.go: requests for a busy key, which gets far more takes than its limit admits
//   - account_spends.go: when the events of a part were spent
//   - account_remaining.go: the remaining events that clients are told
//   - account_outage.go: the local bucket, which decides in an outage, and the debt: events that
//     the account has admitted then, and that the lender is still to debit
//
// The shell has the locks, the waiting and the time:
//
//   - store.go and accounts.go: where the accounts are
//   - take.go: one take or several, decided together; undo.go: what is given back if one is denied
//   - wait.go: how takes wait for the lender; turn.go: takes that may wait for their turn
//   - outage.go: takes that the lender cannot decide
//   - call.go: a call to the lender; queue.go: what waits for it; reply.go: what its reply does
//   - janitor.go: accounts for which no take comes, and the wheel, which says when they are due
//   - recall.go: parts that the lender recalls, and takes that ask again then
//   - cost.go: charges and refunds after a take; operator.go: what operators change
//   - drain.go: how a zone is closed
//
// # Requests and replies
//
// An account with a request under way has a queue: the waiters, and the events that the lender is
// still to take back. A second request may be under way beside the first one. It carries what takes
// need and nothing else. Takes that neither request carries wait for the next one. A reply decides
// all takes that its request carries, unless they need more than limiter.MaxMore events. So a take
// waits for two calls at most. A take is late if a call is not answered within the timeout, counted
// from the instant at which the call was written.
//
// There is one exception. If the lender denies takes and recalls the parts of the bucket, these
// takes ask once more a millisecond later. Their account goes on to have a request under way
// meanwhile.
//
// If another zone denies a request, its take puts the spent events back into their lease. If the
// account does not hold that lease any more, the lender gets the events: those of a window are
// returned, and those of a part are canceled, because the lender was told that they are spent.
//
// A call that no take waits for is in the background. The number of these calls is bounded. At the
// bound, the wheel tries calls for debt and for expired leases again, and later takes request the
// leases that they need.
//
// # Admitted without the lender
//
// If the lender is in an outage or a take is late, Rule.OnOutage decides. An admitted take is one
// of these:
//
//	           when                             the lender hears of it        to undo it
//	untold     the key has no account           never                         nothing
//	indebted   the lender was not asked         by the next request, as debt  reduce the debt
//	carried    a request under way carries it   by that request               its waiter leaves
//	uncertain  its request has failed           perhaps it has                nothing
//
// If a take other than an untold one is undone, the local bucket of the account also gets the
// events back. The reply changes a carried take: it is debited if the reply serves it, and indebted
// if not. If the request fails, a carried take is uncertain, or indebted if the lender was not
// asked. See admission.
//
// # Windows and buckets
//
// A lease of a window is a number of debited events, which expire with the window or before. Events
// that are unspent then are returned, unless the window has passed.
//
// A lease of a bucket is a part of it: some events at once, and a share of the refill, which
// accrues from the arrival of the reply on. A request for a waiting take returns the whole part,
// and says how many of its events were spent. A request in the background keeps the events that
// takes will probably spend until the reply. A part is renewed shortly before it ends. It is
// returned if no take comes for it and the bucket is short of events, or if the lender recalls it.
// Of an ample bucket, a node gets a large part without a share, which lasts for long. Events that
// are not returned before the part ends are lost. If the limit of the key changes, the part is
// returned at once. If another incarnation of the lender replies, the part is dropped. If the count
// is reset, the part stays.
//
// # Nothing is spent twice
//
// A request is never sent again. If it fails, its returns and its grants are lost. Its debt is sent
// with another request only if the lender was certainly not asked, and dropped otherwise. An
// account is removed when it has no lease, no debt and no remembered denial. If it is evicted or
// its zone is closed, a last call returns its leases and tells the lender its debt.
//
// # Clocks
//
// Leases expire by a clock of this node that never steps back. The lender decides by a clock of its
// own. An instant is read from the first clock, a limiter.Instant from the second. Either clock may
// be wrong by 200 ppm, so leases expire a little earlier than the lender says.
//
// # Locks
//
// A goroutine that waits for the lock of a shard holds no other lock of a shard. While it holds the
// lock, it locks only the wheel and the rules of a zone, and calls no function of others but
// Lender.Refusal and those of Options, which do not block.
package lease
