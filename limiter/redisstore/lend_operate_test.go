package redisstore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// refund refunds the takes of one earlier call.
func (h *leaseHistory) refund(t *testing.T) error {
	if len(h.taken) == 0 {
		return nil
	}
	i := h.IntN(len(h.taken))
	refund := h.taken[i]
	h.taken = slices.Delete(h.taken, i, i+1)
	for _, k := range refund {
		seen := k.Decision.Seen()
		ledger := h.ledgersOf(string(k.Key), []limiter.LeaseRequest{{Rule: k.Rule}})[0]
		ledger.Refund(k.Rule, h.now, limiter.Events{At: seen.At, N: k.Cost}, seen)
	}
	return h.nodes[0].Refund(t.Context(), h.now, refund)
}

// operate inspects an account, or resets it or adds quota to it.
func (h *leaseHistory) operate(t *testing.T) error {
	s, r, key := h.nodes[0], h.rules[h.IntN(len(h.rules))], pick(h.history, h.keys...)
	var ofKey []limiter.LeaseRequest
	for _, other := range h.rules {
		ofKey = append(ofKey, limiter.LeaseRequest{Rule: other})
	}
	ledger := h.ledgersOf(key, []limiter.LeaseRequest{{Rule: r}})[0]
	switch h.IntN(6) {
	case 0:
		if err := s.Reset(t.Context(), h.now, r, []byte(key)); err != nil {
			return err
		}
		ledger.Reset(r, h.now, h.ledgersOf(key, ofKey)...)
	case 1, 2:
		events := pick(h.history, 1, 2, 1+h.Int64N(r.Capacity()), r.Capacity(), 1<<50)
		got, err := s.AddQuota(t.Context(), h.now, r, []byte(key), events)
		if err != nil {
			return err
		}
		ledger.AddQuota(r, h.now, events)
		if want := ledger.Inspect(r, h.now); got != want {
			return fmt.Errorf("%d added under %v with %+v:\n got %+v\nwant %+v as a ledger", events, r.Algorithm, r.Limit, got, want)
		}
	}
	got, err := s.Inspect(t.Context(), h.now, r, []byte(key))
	if err != nil {
		return err
	}
	if want := ledger.Inspect(r, h.now); got.Count != want {
		return fmt.Errorf("inspected under %v with %+v:\n got %+v\nwant %+v as a ledger", r.Algorithm, r.Limit, got.Count, want)
	}
	return nil
}
