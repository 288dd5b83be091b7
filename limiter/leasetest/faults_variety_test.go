package leasetest

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// varietyFaults are those of what happens in some fleets besides takes.
var varietyFaults = []fault{
	{
		name:       "clocks that are wrong by a tenth",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		variety:    variety{drift: 250 * mostDrift},
		prepare:    strikeFast,
	},
	{
		name:       "strict take refunded twice",
		boundsOnly: true,
		variety:    variety{strict: true, refunds: 0.3},
		refund: func(g *Ledger, k *limiter.Take, now limiter.Instant) {
			g.Refund(k.Rule, now, limiter.Events{At: k.Decision.At, N: k.Cost}, k.Decision.Seen())
		},
	},
	{
		name:       "refund of a bucket without regard to what it has refilled since",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 50, Window: time.Second},
		variety:    variety{refunds: 0.1},
		refund: func(g *Ledger, k *limiter.Take, _ limiter.Instant) {
			g.AddQuota(k.Rule, g.Newest(), k.Cost)
		},
	},
	{
		name:       "reset that forgets the parts of a bucket",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		variety:    variety{changes: 6},
		prepare:    strikeFast,
		reset: func(g *Ledger) {
			g.count.(*countedLending).lendingCount.(*lendingBucket).parts = parts{}
		},
	},
	{
		name:    "reset after which the store takes back what was leased before",
		from:    220,
		limit:   limiter.Limit{Events: 50, Window: 3 * time.Second},
		variety: variety{changes: 6},
		reset:   func(g *Ledger) { g.created, g.restarted = 0, 0 },
	},
	{
		name:        "reset after which a node spends what it leased before",
		keepsLeases: true,
		limit:       limiter.Limit{Events: 50, Window: 3 * time.Second},
		variety:     variety{changes: 6},
	},
	{
		name:       "quota added twice",
		boundsOnly: true,
		variety:    variety{changes: 6},
		quota:      func(events int64) int64 { return 2 * events },
	},
	{
		name:       "served by the answer alone, as another limit of the key denies the request",
		boundsOnly: true,
		variety: variety{second: limiter.Rule{
			Algorithm: fixed, Limit: limiter.Limit{Events: 20, Window: time.Second},
		}},
		lent: func(_ *simNode, _ *Ledger, l *limiter.LeaseRequest) {
			if l.Need > 0 && l.Served == 0 && l.Decision.OK {
				l.Served = l.Need
			}
		},
	},
	{
		name:       "half of what is charged not consumed",
		boundsOnly: true,
		variety:    variety{charges: 0.2},
		charge:     func(events int64) int64 { return events / 2 },
	},
}
