package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// TestWaitingBesidePartsAsSpecified plays random histories of nodes that lease parts of a bucket,
// and of takes that wait beside them, and compares every reply with the specification.
func TestWaitingBesidePartsAsSpecified(t *testing.T) {
	client, seen := connect(t, standalone(t)), map[string]int{}
	for seed := range uint64(30) {
		h := newLeaseHistory(t, withClock(client), 4*seed+1, limiter.Algorithm{Kind: limiter.TokenBucket})
		h.keys = []string{"alice", "bob"}
		r := *h.rules[0]
		r.Limit = limiter.Limit{Events: pick[int64](h.history, 10, 99, 1000), Window: time.Second, Burst: pick[int64](h.history, 0, 40, 300)}
		r.MaxWait = pick(h.history, 200*time.Millisecond, 3*time.Second)
		h.rules[0] = again(t, &r)
		for call := range 200 {
			err := h.step(t)
			if err == nil {
				err = h.takeWaiting(t, seen)
			}
			if err != nil {
				t.Fatalf("seed %d, call %d at %d: %v", h.seed, call, h.now, err)
			}
		}
	}
	for _, what := range []string{"promised", "promised beside parts", "denied", "given back", "lost"} {
		if seen[what] < 10 {
			t.Errorf("%s: %d times, want 10 at least, of %v", what, seen[what], seen)
		}
	}
}

// takeWaiting has some takes wait in Redis and in the specification. Some of them are given back.
func (h *leaseHistory) takeWaiting(t *testing.T, seen map[string]int) error {
	key, r := pick(h.history, h.keys...), h.rules[0]
	a := account{key, r.ID}
	if h.ledgers[a] == nil {
		h.ledgers[a] = leasetest.NewLedger(r.Algorithm)
	}
	ledger := h.ledgers[a]
	for range h.IntN(4) {
		h.now += limiter.Instant(h.Int64N(20_000))
		parts := ledger.Inspect(r, h.now).LeasedUntil > 0
		takes := []limiter.Take{{
			Rule: r, Key: []byte(key), Cost: pick(h.history, 1, 1, 5, 1+h.Int64N(r.Capacity())), Wait: h.Int64N(2 * r.MaxWait.Microseconds()),
		}}
		k := &takes[0]
		if err := h.nodes[0].Take(t.Context(), h.now, takes); err != nil {
			return err
		}
		want := ledger.TakeWaiting(r, h.now, k.Cost, k.Wait)
		got := k.Decision
		if got.Breach = false; got != want {
			return fmt.Errorf("take of %d that waits for %d under %+v, parts %t:\n got %+v\nwant %+v", k.Cost, k.Wait, r.Limit, parts, got, want)
		}
		switch {
		case !got.OK:
			seen["denied"]++
		case got.Turn != 0 && parts:
			seen["promised beside parts"]++
		case got.Turn != 0:
			seen["promised"]++
		}
		if h.last = got; got.Turn == 0 || h.IntN(2) == 0 {
			continue
		}
		h.now += limiter.Instant(h.Int64N(1 + int64(got.Turn-got.At)))
		back, err := h.nodes[0].GiveBack(t.Context(), h.now, k)
		if err != nil {
			return err
		}
		if want := ledger.GiveBack(r, h.now, got.Turn, k.Cost); back != want {
			return fmt.Errorf("%d promised for %d under %+v, parts %t: given back %t, want %t", k.Cost, got.Turn, r.Limit, parts, back, want)
		}
		seen[map[bool]string{true: "given back", false: "lost"}[back]]++
	}
	return nil
}
