package lease

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

const (
	// drainSize is about how many accounts are drained at a time.
	drainSize = 1024

	// drainSlots is how many slots of a shard are looked at before its lock is released.
	drainSlots = 512

	// drainFor is how long draining may take. A lease that is not returned by then expires.
	drainFor = 5 * time.Second
)

// drain returns the leases of zones that were closed, and waits for accounts with a request under
// way. It goes on until the lender has heard of all accounts, or until the lender does not reply to
// about drainSize accounts within Options.Timeout.
func (s *Store) drain(closed ...*Accounts) {
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	d := drainBatch{store: s}
	d.begin()
	for _, z := range closed {
		shards := z.accounts.Shards()
		for i := range shards {
			sh := &shards[i]
			for at, more := new(keyed.Cursor), true; more; {
				more = d.add(z, sh, at)
				if len(d.calls) >= drainSize && !d.finish(ctx) {
					return
				}
			}
		}
	}
	d.finish(ctx)
}

// A drainBatch is accounts that are drained at the same time.
type drainBatch struct {
	store *Store
	latch *latch
	calls []*call
}

func (d *drainBatch) begin() {
	d.latch, d.calls = newLatch(), nil
	d.latch.add() // until all accounts are added
}

// add removes some accounts of a shard, from at on, and adds their calls to the batch. For accounts
// with a request under way, the batch waits. add reports whether the shard has more accounts.
func (d *drainBatch) add(z *Accounts, sh *shard, at *keyed.Cursor) (more bool) {
	now := d.store.now()
	sh.Lock()
	defer sh.Unlock()
	return sh.Entries.Walk(at, drainSlots, func(e *entry) {
		if e.Value().requesting {
			if q := sh.State.queues[name{e.ID(), string(sh.Entries.Text(e))}]; q.drained == nil {
				q.drained = d.latch
				d.latch.add()
			}
			return
		}
		if c := z.closeAccountLocked(sh, e, now); c != nil {
			c.latch = d.latch
			d.latch.add()
			d.calls = append(d.calls, c)
		}
		z.accounts.RemoveLocked(sh, e)
	})
}

// finish waits until the batch is drained, and reports whether that happened in time.
func (d *drainBatch) finish(ctx context.Context) bool {
	for _, c := range d.calls {
		d.store.send(c)
	}
	d.latch.done()
	gaveUp := d.latch.wait(ctx, d.store.options.Timeout, func() time.Duration { return 0 })
	d.begin()
	return gaveUp == nil
}
