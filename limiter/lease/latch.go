package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A latch waits until all that was added to it is done.
type latch struct {
	pending atomic.Int64
	open    chan struct{} // closed when nothing is pending
	denied  chan struct{} // has room for one
}

func newLatch() *latch { return &latch{open: make(chan struct{}), denied: make(chan struct{}, 1)} }

// add adds one. The latch must not be open.
func (l *latch) add() { l.pending.Add(1) }

func (l *latch) done() {
	if l.pending.Add(-1) == 0 {
		close(l.open)
	}
}

// deny notes that a take is denied. What becomes of the others does not matter to its request.
func (l *latch) deny() {
	select {
	case l.denied <- struct{}{}:
	default:
	}
}

// errDenied means that another take is denied, and that the wait for the others is over.
var errDenied = errors.New("lease: another take is denied")

// minPatience is how long a wait goes on after a denial, if there is time.
const minPatience = time.Millisecond

// wait waits until the latch is open, and for no longer than timeout at first. Then it asks more
// how much longer, until that is nothing. After a denial it waits as long again as that took: a
// lender that replies does so by then, and one that hangs holds up nobody who is denied elsewhere.
// wait returns why it gave up.
func (l *latch) wait(ctx context.Context, timeout time.Duration, more func() time.Duration) error {
	began, reason, denied := time.Now(), ErrTimeout, l.denied
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case <-l.open:
			return nil
		case <-denied:
			took := time.Since(began)
			timer.Reset(min(max(took, minPatience), max(0, timeout-took)))
			reason, denied = errDenied, nil
		case <-timer.C:
			select {
			case <-l.open: // on a busy node, both may have happened meanwhile
				return nil
			default:
			}
			if reason == ErrTimeout {
				if left := more(); left > 0 {
					timer.Reset(left)
					continue
				}
			}
			return reason
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// noMore is for waits that end at their timeout.
func noMore() time.Duration { return 0 }
