package lease

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/baseline"
)

// benchStart is the instant at which the benchmarks begin.
const benchStart limiter.Instant = 1_767_225_600_000_000

// BenchmarkTake compares takes that accounts decide with the least that any limiter must do.
//
//	go test -run '^$' -bench Take ./limiter/lease
func BenchmarkTake(b *testing.B) {
	const lease, denial = limiter.FromLease, limiter.FromRememberedDenial
	baseline.Compare(b, shardBits,
		contenderOf("zones=1/algorithm=token_bucket", 1, limiter.TokenBucket, lease),
		contenderOf("zones=1/algorithm=sliding_window_log", 1, limiter.SlidingWindowLog, lease),
		contenderOf("zones=1/algorithm=sliding_window", 1, limiter.SlidingWindow, lease),
		contenderOf("zones=1/algorithm=fixed_window", 1, limiter.FixedWindow, lease),
		contenderOf("zones=1/denied", 1, limiter.TokenBucket, denial),
		contenderOf("zones=3/algorithm=token_bucket", 3, limiter.TokenBucket, lease),
	)
}

// contenderOf returns a contender that takes each event from several zones at once. Their accounts
// must decide all takes from this source. If that is leases, there are two million takes a second.
func contenderOf(name string, zones int, kind limiter.Kind, from limiter.Source) baseline.Contender {
	return baseline.Contender{Name: "lease/" + name, Open: func(b *testing.B, keys [][]byte) func() baseline.Counter {
		lender := &plentyLender{deny: from == limiter.FromRememberedDenial}
		s := New(lender, Options{Clock: func() limiter.Instant { return benchStart }})
		b.Cleanup(s.Close)
		var rules []*limiter.Rule
		for z := range zones {
			r, err := limiter.NewRule(limiter.Rule{
				ID: uint32(z), Zone: s.Open(fmt.Sprint("zone", z)), Algorithm: limiter.Algorithm{Kind: kind},
				Limit: limiter.Limit{Events: 1_000_000, Window: time.Hour},
			})
			if err != nil {
				b.Fatal(err)
			}
			rules = append(rules, r)
		}
		each := func() baseline.Counter {
			ctx, now, step := context.Background(), benchStart, limiter.Instant(0)
			takes := make([]limiter.Take, zones)
			return func(key []byte) (left int64) {
				if from == limiter.FromLease { // a benchmark outlasts the memory of a denial
					now, step = now+step, 1-step
				}
				for z := range takes {
					takes[z].Rule, takes[z].Key, takes[z].Cost = rules[z], key, 1
				}
				if err := s.Take(ctx, now, takes); err != nil {
					return -1
				}
				for z := range takes {
					if takes[z].Decision.Source != from {
						return -1
					}
					left += takes[z].Decision.Remaining
				}
				return left
			}
		}
		warm := each()
		for _, key := range keys {
			warm(key) // gets a lease
		}
		for _, key := range keys {
			if warm(key) < 0 {
				b.Fatalf("%s is not known after a take", key)
			}
		}
		return each
	}}
}

// A plentyLender grants leases that outlast a benchmark, or denies everything. It replies before
// Lend returns.
type plentyLender struct {
	limiter.Lender
	deny bool
}

func (*plentyLender) Refusal([]byte) error { return nil }

func (p *plentyLender) Lend(requests []limiter.LeaseRequest, _ func(), done func(error)) {
	const at, lasts = limiter.Instant(1_000_000_000_000), 1_000_000_000
	for i := range requests {
		l := &requests[i]
		l.Incarnation = 1
		l.Decision = limiter.Decision{OK: !p.deny, At: at, Limit: l.Rule.Capacity(), RetryAt: at, ResetAt: at}
		if p.deny {
			l.Decision.RetryAt = at + lasts
			continue
		}
		l.Decision.Remaining = l.Rule.Capacity() / 2
		l.Served, l.Granted, l.Expires = l.Need, l.Rule.Capacity()/4, at+lasts
	}
	done(nil)
}
