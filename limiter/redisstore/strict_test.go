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

// TestStrictAccounts runs the tests of all stores with strict rules. Under these, accounts decide
// nothing but denials that Redis would repeat.
func TestStrictAccounts(t *testing.T) {
	client := connect(t, standalone(t))
	storetest.Run(t, func(t *testing.T, names ...string) (storetest.Store, map[string]limiter.Counts) {
		s := &strictStore{lender: &watchedLender{Store: withClock(client)}}
		s.lender.idle.L = &s.lender.mu
		s.lender.clock = func(limiter.Instant) string { return strconv.FormatInt(int64(s.instant()), 10) }
		s.Store = lease.New(s.lender, lease.Options{Clock: s.elapsed, Timeout: patience})
		t.Cleanup(s.Close)
		zones := make(map[string]limiter.Counts)
		for _, name := range names {
			zones[name] = s.Open(name)
		}
		return s, zones
	})
}

// A watchedLender counts the lease requests that have no answer yet.
type watchedLender struct {
	*Store
	mu   sync.Mutex
	idle sync.Cond // signaled when open is 0
	open int
}

func (l *watchedLender) Lend(requests []limiter.LeaseRequest, written func(), answered func(error)) {
	l.add(1)
	l.Store.Lend(requests, written, func(err error) {
		answered(err) // may lend again
		l.add(-1)
	})
}

func (l *watchedLender) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open += n; l.open == 0 {
		l.idle.Broadcast()
	}
}

// await waits until all requests have an answer.
func (l *watchedLender) await() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open > 0 {
		l.idle.Wait()
	}
}

// A strictStore is a store whose rules are strict. Its lender's clock is at the instant of the last
// take. A peek waits until all earlier lease requests have an answer.
type strictStore struct {
	*lease.Store
	lender *watchedLender

	mu        sync.Mutex // guards the fields below
	now       limiter.Instant
	monotonic limiter.Instant // the clock of the node, which is never set back
	rules     map[*limiter.Rule]*limiter.Rule
}

func (s *strictStore) instant() limiter.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *strictStore) elapsed() limiter.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.monotonic
}

// strict runs do with takes under strict rules, and copies the answers.
func (s *strictStore) strict(now limiter.Instant, takes []limiter.Take, do func(limiter.Instant, []limiter.Take) error) error {
	copies, elapsed, err := s.begin(now, takes)
	if err != nil {
		return err
	}
	err = do(elapsed, copies)
	for i := range takes {
		d := copies[i].Decision
		if d.Source != limiter.FromStore {
			d.Rebase(now)
		}
		takes[i].Decision, takes[i].Err = d, copies[i].Err
	}
	return err
}

// strictly returns r as a strict rule and the instant of the node, after the clock was set to now.
func (s *strictStore) strictly(now limiter.Instant, r *limiter.Rule) (strict *limiter.Rule, elapsed limiter.Instant, err error) {
	s.lender.await()
	takes, elapsed, err := s.begin(now, []limiter.Take{{Rule: r}})
	if err != nil {
		return nil, 0, err
	}
	return takes[0].Rule, elapsed, nil
}

// begin sets the clock to now, and returns the takes under strict rules.
func (s *strictStore) begin(now limiter.Instant, takes []limiter.Take) (strict []limiter.Take, elapsed limiter.Instant, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == nil {
		s.now, s.monotonic, s.rules = now, now, make(map[*limiter.Rule]*limiter.Rule)
	}
	if s.monotonic += max(0, now-s.now); now < s.now { // so that no remembered denial survives a clock that is set back
		s.monotonic += 2_000_000
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
	return strict, s.monotonic, nil
}

func (s *strictStore) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Take(ctx, now, takes) })
}

func (s *strictStore) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	s.lender.await()
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Peek(ctx, now, takes) })
}

func (s *strictStore) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Refund(ctx, now, takes) })
}

func (s *strictStore) Charge(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.strict(now, takes, func(now limiter.Instant, takes []limiter.Take) error { return s.Store.Charge(ctx, now, takes) })
}

func (s *strictStore) Inspect(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) (i limiter.Inspection, err error) {
	r, now, err = s.strictly(now, r)
	if err != nil {
		return i, err
	}
	return s.Store.Inspect(ctx, now, r, key)
}

func (s *strictStore) Reset(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) error {
	r, now, err := s.strictly(now, r)
	if err != nil {
		return err
	}
	return s.Store.Reset(ctx, now, r, key)
}

func (s *strictStore) AddQuota(
	ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte, events int64,
) (c limiter.CountState, err error) {
	r, now, err = s.strictly(now, r)
	if err != nil {
		return c, err
	}
	return s.Store.AddQuota(ctx, now, r, key, events)
}
