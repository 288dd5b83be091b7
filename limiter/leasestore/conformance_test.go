package leasestore

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/storetest"
)

// TestConformance passes the tests of all stores with strict rules, which a store in memory decides.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, zones ...string) limiter.Store {
		counts := memstore.New(memstore.Options{SweepInterval: 365 * 24 * time.Hour})
		t.Cleanup(counts.Close)
		s := &strictStore{}
		s.Store = New(struct {
			limiter.Store
			noLender
		}{counts, noLender{t}}, Options{Clock: func() limiter.Instant { return limiter.Instant(s.now.Load()) }})
		t.Cleanup(s.Close)
		for _, zone := range zones {
			counts.Open(zone)
			s.Open(zone)
		}
		return s
	})
}

// A noLender is not asked for loans.
type noLender struct{ t *testing.T }

func (l noLender) Lend([]limiter.Loan, func(error)) {
	l.t.Error("a loan was asked for under a strict rule")
}

// A strictStore is a store whose rules are strict, and whose clock is at the instant of the last take.
type strictStore struct {
	*Store
	now   atomic.Int64
	rules sync.Map // *limiter.Rule -> *limiter.Rule
}

// strict calls do with takes under strict rules, and copies the answers.
func (s *strictStore) strict(now limiter.Instant, takes []limiter.Take, do func(takes []limiter.Take) error) error {
	s.now.Store(int64(now))
	asked := make([]limiter.Take, len(takes))
	for i, k := range takes {
		r, found := s.rules.Load(k.Rule)
		if !found {
			strict := *k.Rule
			strict.Strict = true
			made, err := limiter.NewRule(strict)
			if err != nil {
				return err
			}
			r, _ = s.rules.LoadOrStore(k.Rule, made)
		}
		asked[i] = k
		asked[i].Rule = r.(*limiter.Rule)
	}
	err := do(asked)
	for i := range takes {
		takes[i].Decision, takes[i].Err = asked[i].Decision, asked[i].Err
	}
	return err
}

func (s *strictStore) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(takes []limiter.Take) error { return s.Store.Take(ctx, now, takes) })
}

func (s *strictStore) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(takes []limiter.Take) error { return s.Store.Peek(ctx, now, takes) })
}

func (s *strictStore) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(takes []limiter.Take) error { return s.Store.Refund(ctx, now, takes) })
}
