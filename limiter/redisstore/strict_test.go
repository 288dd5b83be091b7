package redisstore

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/storetest"
)

// TestStrictAccounts passes the tests of all stores with strict rules, whose accounts decide nothing but denials that Redis repeats.
func TestStrictAccounts(t *testing.T) {
	client := connect(t, standalone(t))
	storetest.Run(t, func(t *testing.T, names ...string) (limiter.Store, map[string]limiter.Zone) {
		s := &strictStore{lender: &watchedLender{Store: withClock(client)}}
		s.lender.clock = func(limiter.Instant) string { return strconv.FormatInt(int64(s.instant()), 10) }
		s.Store = lease.New(s.lender, lease.Options{Clock: s.elapsed, Timeout: patience})
		t.Cleanup(s.Close)
		zones := make(map[string]limiter.Zone)
		for _, name := range names {
			zones[name] = s.Open(name)
		}
		return s, zones
	})
}

// A watchedLender knows what is under way.
type watchedLender struct {
	*Store
	underWay sync.WaitGroup
}

func (l *watchedLender) Lend(loans []limiter.LeaseRequest, answered func(error)) {
	l.underWay.Add(1)
	l.Store.Lend(loans, func(err error) {
		answered(err) // which may lend again
		l.underWay.Done()
	})
}

// A strictStore is a store whose rules are strict, and whose lender's clock is at the instant of the last take. It does not peek
// before the lender has been told of what goes back.
type strictStore struct {
	*lease.Store
	lender *watchedLender

	mu    sync.Mutex // guards what follows
	now   limiter.Instant
	runs  limiter.Instant // by the clock of the node, which is never set back
	rules map[*limiter.Rule]*limiter.Rule
}

func (s *strictStore) instant() limiter.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *strictStore) elapsed() limiter.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// strict calls do with takes under strict rules, and copies the answers.
func (s *strictStore) strict(now limiter.Instant, takes []limiter.Take, do func(limiter.Instant, []limiter.Take) error) error {
	asked, elapsed, err := s.begin(now, takes)
	if err != nil {
		return err
	}
	err = do(elapsed, asked)
	for i := range takes {
		d := asked[i].Decision
		if d.Source != limiter.FromStore {
			d.Rebase(now)
		}
		takes[i].Decision, takes[i].Err = d, asked[i].Err
	}
	return err
}

// begin makes it now, and the rules strict.
func (s *strictStore) begin(now limiter.Instant, takes []limiter.Take) (strict []limiter.Take, elapsed limiter.Instant, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == nil {
		s.now, s.runs, s.rules = now, now, make(map[*limiter.Rule]*limiter.Rule)
	}
	if s.runs += max(0, now-s.now); now < s.now { // a clock is set back, which takes longer than a denial is remembered
		s.runs += 2_000_000
	}
	s.now = now
	for _, k := range takes {
		if s.rules[k.Rule] == nil {
			r := *k.Rule
			r.Strict = true
			if s.rules[k.Rule], err = limiter.NewRule(r); err != nil {
				return nil, 0, err
			}
		}
		k.Rule = s.rules[k.Rule]
		strict = append(strict, k)
	}
	return strict, s.runs, nil
}

func (s *strictStore) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Take(ctx, now, takes) })
}

func (s *strictStore) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	s.lender.underWay.Wait()
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Peek(ctx, now, takes) })
}

func (s *strictStore) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Refund(ctx, now, takes) })
}
