package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// errCut is what a test's lender says when a request or its reply was lost.
var errCut = errors.New("the connection was cut")

// A fate is what becomes of a request to a lender.
type fate int

const (
	answered    fate = iota
	lostRequest      // it fails, and nothing was done
	lostReply        // it fails, though all was done
	silence          // all was done, and nothing is heard of it
	refused          // it fails, as too much waits for the lender, and nothing was done
)

// A memoryLender is a lender in memory, by the calculators that specify the scripts of Redis. Its clock is three hours ahead
// of the nodes'.
type memoryLender struct {
	delay time.Duration // of a request, half of it each way; 0: it is answered before Lend returns

	mu          sync.Mutex
	next        func(loans []limiter.LeaseRequest) (fate, time.Duration) // decides fates and delays; nil: all are answered after delay
	ledgers     map[name]*leasetest.Ledger
	incarnation uint64
	answers     bool  // it answers, though late
	lostGrants  int64 // events lent by answers that were lost, of which no node knows
	calls       int
	pending     int                    // requests to lend that are under way
	maxPending  int                    // the most of those at a time
	requests    []limiter.LeaseRequest // as they were asked, with their answers, in the order in which they came in
}

func newLender(delay time.Duration) *memoryLender {
	return &memoryLender{delay: delay, ledgers: make(map[name]*leasetest.Ledger), incarnation: 1}
}

// decide has fates and delays decided by a function, until the next call.
func (m *memoryLender) decide(next func(loans []limiter.LeaseRequest) (fate, time.Duration)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = next
}

// always makes this the fate of all requests.
func (m *memoryLender) always(f fate) {
	m.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return f, m.delay })
}

func (m *memoryLender) Lend(loans []limiter.LeaseRequest, answer func(error)) {
	m.mu.Lock()
	f, delay := answered, m.delay
	if m.next != nil {
		f, delay = m.next(loans)
	}
	m.pending++
	m.maxPending = max(m.maxPending, m.pending)
	m.mu.Unlock()
	landed := func(err error) {
		m.mu.Lock()
		m.pending--
		m.mu.Unlock()
		answer(err)
	}
	if delay == 0 {
		m.apply(f, loans, landed)
		return
	}
	time.AfterFunc(delay/2, func() {
		m.apply(f, loans, func(err error) { time.AfterFunc(delay/2, func() { landed(err) }) })
	})
}

// meet has loans meet their fate.
func (m *memoryLender) apply(f fate, loans []limiter.LeaseRequest, answer func(error)) {
	if f != lostRequest && f != refused {
		m.lend(loans)
	}
	if f == lostReply || f == silence {
		m.mu.Lock()
		for i := range loans {
			m.lostGrants += loans[i].Granted
		}
		m.mu.Unlock()
	}
	switch f {
	case answered:
		answer(nil)
	case lostRequest, lostReply:
		answer(errCut)
	case refused:
		answer(fmt.Errorf("a test's lender: %w", limiter.ErrLate))
	}
}

func (m *memoryLender) lend(loans []limiter.LeaseRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	ledgers := make([]*leasetest.Ledger, len(loans))
	for i, l := range loans {
		n := name{l.Rule.ID, string(l.Key)}
		if m.ledgers[n] == nil {
			m.ledgers[n] = leasetest.NewLedger(l.Rule.Algorithm)
		}
		ledgers[i] = m.ledgers[n]
	}
	leasetest.Lend(1, m.incarnation, limiter.At(time.Now().Add(3*time.Hour)), ledgers, loans)
	m.requests = append(m.requests, loans...)
}

// Take decides all takes as one, at once.
func (m *memoryLender) Take(ctx context.Context, _ limiter.Instant, takes []limiter.Take) error {
	if err := ctx.Err(); err != nil {
		return fail(takes, err)
	}
	loans := make([]limiter.LeaseRequest, len(takes))
	for i, k := range takes {
		loans[i] = limiter.LeaseRequest{Rule: k.Rule, Key: k.Key, Need: k.Cost}
	}
	f := answered
	if m.next != nil {
		f, _ = m.next(loans)
	}
	var err error
	m.apply(f, loans, func(e error) { err = e })
	for i := range takes {
		takes[i].Decision = loans[i].Decision
	}
	return fail(takes, err)
}

// fail makes err that of all takes.
func fail(takes []limiter.Take, err error) error {
	for i := range takes {
		takes[i].Err = err
	}
	return err
}

// Peek decides takes of one event.
func (m *memoryLender) Peek(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	for i, k := range takes {
		loans := []limiter.LeaseRequest{{Rule: k.Rule, Key: k.Key}}
		m.lend(loans)
		takes[i].Decision = loans[0].Decision
	}
	return nil
}

// Refund takes back what takes consumed.
func (m *memoryLender) Refund(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	for _, k := range takes {
		if seen := k.Decision.Seen(); k.Decision.OK {
			undo := limiter.Events{At: seen.At, N: k.Cost}
			m.lend([]limiter.LeaseRequest{{Rule: k.Rule, Key: k.Key, Cancel: undo, Seen: seen, Incarnation: m.incarnation}})
		}
	}
	return nil
}

// Answers reports what a test says.
func (m *memoryLender) Answers([]byte, time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers
}

// busy has it answer, though late, from now on.
func (m *memoryLender) busy() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = true
}

// used returns what is consumed of a key, leases included.
func (m *memoryLender) used(r *limiter.Rule, key string) int64 {
	loans := []limiter.LeaseRequest{{Rule: r, Key: []byte(key)}}
	m.lend(loans)
	return r.Capacity() - loans[0].Decision.Remaining
}

// asked returns how many loans were answered so far.
func (m *memoryLender) received() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

// flights returns how many requests to lend are under way, and how many were at a time at most.
func (m *memoryLender) pendingCalls() (now, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pending, m.maxPending
}

// A deadLender fails whatever it is asked.
type deadLender struct{}

func (deadLender) Lend(_ []limiter.LeaseRequest, answer func(error)) { answer(errCut) }

func (deadLender) Answers([]byte, time.Duration) bool { return false }

func (deadLender) Take(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	return fail(takes, errCut)
}

func (deadLender) Peek(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	return fail(takes, errCut)
}

func (deadLender) Refund(context.Context, limiter.Instant, []limiter.Take) error { return errCut }
