package leasestore

import (
	"context"
	"sync/atomic"
	"time"
)

// A party is those who wait for the lender together: it is over when all are answered.
type party struct {
	waiting atomic.Int64
	done    chan struct{}
}

func newParty() *party { return &party{done: make(chan struct{})} }

// join says that one more waits. The party must not be over.
func (p *party) join() { p.waiting.Add(1) }

// leave says that one of those who wait is answered.
func (p *party) leave() {
	if p.waiting.Add(-1) == 0 {
		close(p.done)
	}
}

// wait waits until the party is over, and for no longer than the timeout or ctx.
func (p *party) wait(ctx context.Context, timeout time.Duration) error {
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-late.C:
		return ErrTimeout
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
