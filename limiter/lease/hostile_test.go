package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A hostileLender replies with arbitrary numbers, as a compromised Redis can.
type hostileLender struct {
	limiter.Operator // is nil, because the tests call no operator
	mu               sync.Mutex
	*rand.Rand
}

func (h *hostileLender) number() int64 {
	extremes := []int64{0, 1, -1, 7, 1 << 32, 1 << 40, 1<<53 - 1, 1 << 62, 1<<63 - 1, -1 << 63, h.Int64(), -h.Int64()}
	return extremes[h.IntN(len(extremes))]
}

func (h *hostileLender) decision() limiter.Decision {
	return limiter.Decision{
		OK: h.IntN(2) == 0, Limit: h.number(), Remaining: h.number(), At: limiter.Instant(h.number()),
		RetryAt: limiter.Instant(h.number()), ResetAt: limiter.Instant(h.number()),
	}
}

func (h *hostileLender) Lend(requests []limiter.LeaseRequest, _ func(), done func(error)) {
	h.mu.Lock()
	for i := range requests {
		l := &requests[i]
		l.Decision, l.Served, l.Granted, l.Expires, l.Incarnation = h.decision(), h.number(), h.number(), limiter.Instant(h.number()), h.Uint64()
		if l.Unserved = (limiter.Decision{}); h.IntN(4) == 0 {
			l.Unserved = h.decision()
		}
		if h.IntN(4) == 0 {
			l.Decision.OK, l.Served = true, l.Need
		}
	}
	h.mu.Unlock()
	done(nil)
}

func (h *hostileLender) Take(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range takes {
		takes[i].Decision = h.decision()
	}
	return nil
}

func (h *hostileLender) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return h.Take(ctx, now, takes)
}

func (h *hostileLender) Lag() time.Duration { return time.Duration(h.number()) }

func (h *hostileLender) Refusal([]byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.IntN(4) == 0 {
		return errCut
	}
	return nil
}

func (h *hostileLender) Refund(context.Context, limiter.Instant, []limiter.Take) error { return nil }

func (h *hostileLender) Charge(context.Context, limiter.Instant, []limiter.Take) error { return nil }

// TestHostileLender checks that every take is decided and nothing panics, whatever the lender
// replies.
func TestHostileLender(t *testing.T) {
	for seed := range uint64(20) {
		now := benchStart
		h, choose := &hostileLender{Rand: rand.New(rand.NewPCG(seed, 1))}, rand.New(rand.NewPCG(seed, 2))
		s := New(h, Options{Timeout: time.Millisecond, Clock: func() limiter.Instant { return now }})
		var rules []*limiter.Rule
		for i, kind := range kinds {
			rules = append(rules, node{t, s, nil}.rule(limiter.Rule{
				ID: uint32(i + 1), Algorithm: limiter.Algorithm{Kind: kind},
				Limit: limiter.Limit{Events: 1000, Window: time.Minute},
			}))
		}
		for i := range 500 {
			_ = s.Take(t.Context(), now, []limiter.Take{
				takeOf(rules[choose.IntN(len(rules))], fmt.Sprint("key", i%7), 1+choose.Int64N(3)),
				takeOf(rules[choose.IntN(len(rules))], fmt.Sprint("key", i%3), 1),
			})
		}
		s.Close()
	}
}
