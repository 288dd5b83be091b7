package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A latch is those who wait for the lender together: it is over when all are answered.
type latch struct {
	waiting atomic.Int64
	done    chan struct{}
	denied  chan struct{} // has room for one
}

func newLatch() *latch { return &latch{done: make(chan struct{}), denied: make(chan struct{}, 1)} }

// join says that one more waits. The party must not be over.
func (p *latch) join() { p.waiting.Add(1) }

// leave says that one of those who wait is answered.
func (p *latch) leave() {
	if p.waiting.Add(-1) == 0 {
		close(p.done)
	}
}

// deny says that one of those who wait is denied: no answer to the others changes what becomes of the request.
func (p *latch) deny() {
	select {
	case p.denied <- struct{}{}:
	default:
	}
}

// errDenied says that a denial is known, and the other answers are waited for no longer.
var errDenied = errors.New("lease: another take is denied")

// wait waits until the party is over, and for no longer than the timeout or ctx. When one is denied, the others are waited for
// as long again: a lender that answers does so by then, and one that hangs holds up nobody who is denied elsewhere.
func (p *latch) wait(ctx context.Context, timeout time.Duration) error {
	begin, reason, denied := time.Now(), ErrTimeout, p.denied
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		select {
		case <-p.done:
			return nil
		case <-denied:
			took := time.Since(begin)
			late.Reset(min(max(took, leastPatience), timeout-took))
			reason, denied = errDenied, nil
		case <-late.C:
			select {
			case <-p.done: // on a busy node both may have come meanwhile
				return nil
			default:
				return reason
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leastPatience is for how long other answers are waited for after a denial at least, as far as there is time.
const leastPatience = time.Millisecond
