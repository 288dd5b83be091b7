package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// errCut is the error of a test's lender when a request or its reply was lost.
var errCut = errors.New("the connection was cut")

// A fate is the outcome of a call to a lender.
type fate int

const (
	answered    fate = iota
	lostRequest      // it fails and has no effect
	lostReply        // it fails but has its effect
	silence          // it has its effect and is never answered
	refused          // it fails without effect, as too much waits for the lender
	unreachable      // it fails without effect, as the lender is known to be in an outage
)

// A memoryLender is a lender in memory. It uses the ledgers that specify the scripts of Redis. Its
// clock is three hours ahead of the nodes' clocks.
type memoryLender struct {
	delay time.Duration // of a call, half of it each way; if 0, Lend answers before it returns

	mu          sync.Mutex
	next        func(requests []limiter.LeaseRequest) (fate, time.Duration) // if nil, all get delay
	amend       func(reply *limiter.LeaseRequest)                           // changes replies; may be nil
	ledgers     map[name]*leasetest.Ledger
	incarnation uint64
	lag         time.Duration   // the result of Lag
	writes      []time.Duration // when requests are written; at once if nil
	refuses     bool            // whether Refusal reports an outage
	chargeErr   error           // the error of Charge
	lostGrants  int64           // events granted by replies that were lost
	stores      []*Store        // that hear of recalls
	calls       int
	newest      time.Time              // when the newest call was made
	before      time.Duration          // one nanosecond for each call before newest at the same instant
	pending     int                    // calls of Lend under way
	maxPending  int                    // the most at a time
	requests    []limiter.LeaseRequest // all requests so far, with their replies
}

func newLender(delay time.Duration) *memoryLender {
	return &memoryLender{delay: delay, ledgers: make(map[name]*leasetest.Ledger), incarnation: 1}
}

// decide has next decide the fates and delays of later calls.
func (m *memoryLender) decide(next func(requests []limiter.LeaseRequest) (fate, time.Duration)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = next
}

// delayAnswers answers calls whose first request is under r after ofRule, and all others after
// ofOthers.
func (m *memoryLender) delayAnswers(r *limiter.Rule, ofRule, ofOthers time.Duration) {
	m.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
		if requests[0].Rule == r {
			return answered, ofRule
		}
		return answered, ofOthers
	})
}

// always makes this the fate of all later calls.
func (m *memoryLender) always(f fate) {
	m.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return f, m.delay })
}

// Lend reports the requests as written when the test says so, and otherwise at once.
func (m *memoryLender) Lend(requests []limiter.LeaseRequest, written func(), done func(error)) {
	if written != nil {
		if m.writes == nil {
			written()
		}
		for _, after := range m.writes {
			time.AfterFunc(after, written)
		}
	}
	m.mu.Lock()
	f, delay := answered, m.delay
	if m.next != nil {
		f, delay = m.next(requests)
	}
	m.pending++
	m.maxPending = max(m.maxPending, m.pending)
	m.mu.Unlock()
	complete := func(err error) {
		m.mu.Lock()
		m.pending--
		m.mu.Unlock()
		done(err)
	}
	if delay == 0 {
		m.apply(f, requests, complete)
		return
	}
	there := delay/2 + m.order()
	time.AfterFunc(there, func() {
		m.apply(f, requests, func(err error) { time.AfterFunc(delay-there, func() { complete(err) }) })
	})
}

// order returns a delay for a call, so that calls of one instant arrive in their order.
func (m *memoryLender) order() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); now.Equal(m.newest) {
		m.before++
	} else {
		m.newest, m.before = now, 0
	}
	return m.before
}

// apply gives requests the fate f.
func (m *memoryLender) apply(f fate, requests []limiter.LeaseRequest, done func(error)) {
	if f != lostRequest && f != refused && f != unreachable {
		m.lend(requests)
	}
	if f == lostReply || f == silence {
		m.mu.Lock()
		for i := range requests {
			m.lostGrants += requests[i].Granted
		}
		m.mu.Unlock()
	}
	switch f {
	case answered:
		done(nil)
	case lostRequest, lostReply:
		done(errCut)
	case refused:
		done(fmt.Errorf("a test's lender: %w, %w", limiter.ErrLate, limiter.ErrNotAsked))
	case unreachable:
		done(fmt.Errorf("a test's lender: %w, %w", errCut, limiter.ErrNotAsked))
	}
}

func (m *memoryLender) lend(requests []limiter.LeaseRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	ledgers := make([]*leasetest.Ledger, len(requests))
	for i, l := range requests {
		n := name{l.Rule.ID, string(l.Key)}
		if m.ledgers[n] == nil {
			m.ledgers[n] = leasetest.NewLedger(l.Rule.Algorithm)
		}
		ledgers[i] = m.ledgers[n]
	}
	leasetest.Lend(m.incarnation, limiter.At(time.Now().Add(3*time.Hour)), ledgers, requests)
	for i := range requests {
		if m.amend != nil {
			m.amend(&requests[i])
		}
		if l := &requests[i]; l.RecalledAt != 0 && l.RecalledAt == l.Decision.At {
			m.recall(l)
		}
	}
	m.requests = append(m.requests, requests...)
}

// recall tells the stores in stores to return what they hold of the bucket of l.
func (m *memoryLender) recall(l *limiter.LeaseRequest) {
	r := limiter.Recall{Key: bytes.Clone(l.Key), Rule: l.Rule.ID, At: l.RecalledAt}
	for _, s := range m.stores {
		time.AfterFunc(m.delay/2, func() { s.Recall(r) })
	}
}

// Take decides all takes as one, without a delay.
func (m *memoryLender) Take(ctx context.Context, _ limiter.Instant, takes []limiter.Take) error {
	if err := ctx.Err(); err != nil {
		return fail(takes, err)
	}
	requests := make([]limiter.LeaseRequest, len(takes))
	for i, k := range takes {
		requests[i] = limiter.LeaseRequest{Rule: k.Rule, Key: k.Key, Need: k.Cost}
	}
	f := answered
	if m.next != nil {
		f, _ = m.next(requests)
	}
	var err error
	m.apply(f, requests, func(e error) { err = e })
	for i := range takes {
		takes[i].Decision = requests[i].Decision
	}
	return fail(takes, err)
}

// fail makes err the error of all takes.
func fail(takes []limiter.Take, err error) error {
	for i := range takes {
		takes[i].Err = err
	}
	return err
}

// Peek decides takes of one event.
func (m *memoryLender) Peek(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	for i, k := range takes {
		requests := []limiter.LeaseRequest{{Rule: k.Rule, Key: k.Key}}
		m.lend(requests)
		takes[i].Decision = requests[0].Decision
	}
	return nil
}

// incarnationNow returns the incarnation that answers now.
func (m *memoryLender) incarnationNow() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.incarnation
}

// Refund refunds what takes consumed.
func (m *memoryLender) Refund(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	for _, k := range takes {
		if seen := k.Decision.Seen(); k.Decision.OK {
			cancel := limiter.Events{At: seen.At, N: k.Cost}
			m.lend([]limiter.LeaseRequest{{Rule: k.Rule, Key: k.Key, Cancel: cancel, Lacked: seen.N, Incarnation: m.incarnationNow()}})
		}
	}
	return nil
}

// Charge consumes events of ledgers, which are new unless a take has come before.
func (m *memoryLender) Charge(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chargeErr != nil {
		return m.chargeErr
	}
	for _, k := range takes {
		at := name{k.Rule.ID, string(k.Key)}
		if m.ledgers[at] == nil {
			m.ledgers[at] = leasetest.NewLedger(k.Rule.Algorithm)
		}
		m.ledgers[at].Charge(k.Rule, limiter.At(time.Now().Add(3*time.Hour)), k.Cost)
	}
	return nil
}

// Inspect returns the state of a ledger.
func (m *memoryLender) Inspect(_ context.Context, _ limiter.Instant, r *limiter.Rule, key []byte) (i limiter.Inspection, _ error) {
	m.operate(r, key, func(g *leasetest.Ledger, now limiter.Instant) { i.Count = g.Inspect(r, now) })
	return i, nil
}

// Reset resets a ledger.
func (m *memoryLender) Reset(_ context.Context, _ limiter.Instant, r *limiter.Rule, key []byte) error {
	m.operate(r, key, func(g *leasetest.Ledger, now limiter.Instant) { g.Reset(r, now) })
	return nil
}

// AddQuota gives back events of a ledger.
func (m *memoryLender) AddQuota(
	_ context.Context, _ limiter.Instant, r *limiter.Rule, key []byte, events int64,
) (c limiter.CountState, _ error) {
	m.operate(r, key, func(g *leasetest.Ledger, now limiter.Instant) {
		g.AddQuota(r, now, events)
		c = g.Inspect(r, now)
	})
	return c, nil
}

// operate calls do with the ledger of a key, if it has one, and the lender's instant.
func (m *memoryLender) operate(r *limiter.Rule, key []byte, do func(*leasetest.Ledger, limiter.Instant)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.ledgers[name{r.ID, string(key)}]; g != nil {
		do(g, limiter.At(time.Now().Add(3*time.Hour)))
	}
}

// Lag returns the lag that the test has set.
func (m *memoryLender) Lag() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lag
}

// Refusal reports an outage if the test has set one.
func (m *memoryLender) Refusal([]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses {
		return errCut
	}
	return nil
}

// refuse has Refusal report an outage from now on, or no outage.
func (m *memoryLender) refuse(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = on
}

// used returns how many events of a key are consumed, leased events included.
func (m *memoryLender) used(r *limiter.Rule, key string) int64 {
	requests := []limiter.LeaseRequest{{Rule: r, Key: []byte(key)}}
	m.lend(requests)
	return r.Capacity() - requests[0].Decision.Remaining
}

// received returns how many requests have had an effect so far.
func (m *memoryLender) received() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

// pendingCalls returns how many calls of Lend are under way, and the most that ever were.
func (m *memoryLender) pendingCalls() (now, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pending, m.maxPending
}

// A deadLender fails every call.
type deadLender struct{}

func (deadLender) Lend(_ []limiter.LeaseRequest, _ func(), done func(error)) { done(errCut) }

func (deadLender) Lag() time.Duration { return 0 }

func (deadLender) Refusal([]byte) error { return nil }

func (deadLender) Take(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	return fail(takes, errCut)
}

func (deadLender) Peek(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	return fail(takes, errCut)
}

func (deadLender) Refund(context.Context, limiter.Instant, []limiter.Take) error { return errCut }

func (deadLender) Charge(context.Context, limiter.Instant, []limiter.Take) error { return errCut }

func (deadLender) Inspect(context.Context, limiter.Instant, *limiter.Rule, []byte) (i limiter.Inspection, err error) {
	return i, errCut
}

func (deadLender) Reset(context.Context, limiter.Instant, *limiter.Rule, []byte) error { return errCut }

func (deadLender) AddQuota(
	context.Context, limiter.Instant, *limiter.Rule, []byte, int64,
) (c limiter.CountState, err error) {
	return c, errCut
}
