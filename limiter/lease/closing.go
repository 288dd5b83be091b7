package lease

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter/table"
)

const (
	// closeBatch is about how many accounts give back at a time.
	closeBatch = 1024

	// closeFor is how long it may take in all: longer than what is leased can be spent, it makes no difference any more.
	closeFor = 5 * time.Second
)

// drain gives back what is leased in zones that were closed, and waits for accounts that are asking. It goes on until all has
// been told to the lender, or until that does not answer as many accounts as give back at a time before a request would have
// given up.
func (s *Store) drain(closed ...*Zone) {
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	c := drainBatch{store: s}
	c.begin()
	for _, b := range closed {
		for i := range b.shards {
			for at, more := new(table.Cursor), true; more; {
				more = c.close(b, &b.shards[i], at)
				if len(c.flights) >= closeBatch && !c.finish(ctx) {
					return
				}
			}
		}
	}
	c.finish(ctx)
}

// A drainBatch is accounts that give back at the same time.
type drainBatch struct {
	store   *Store
	party   *latch
	flights []*leaseRequest
}

func (c *drainBatch) begin() {
	c.party, c.flights = newLatch(), nil
	c.party.join() // until all have joined
}

// close closes some of the accounts of a shard, from at on, and reports whether there are more.
func (c *drainBatch) close(b *Zone, sh *shard, at *table.Cursor) (more bool) {
	now := c.store.options.Clock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.accounts.Walk(at, sweepSlice, func(e *entry) {
		if e.Value().Asking() {
			if q := sh.queues[name{e.ID(), string(sh.accounts.Text(e, 0))}]; q.closing == nil {
				q.closing = c.party
				c.party.join()
			}
			return
		}
		if f := b.close(sh, e, now); f != nil {
			f.party = c.party
			c.party.join()
			c.flights = append(c.flights, f)
		}
		b.release()
	})
}

// finish waits until the accounts have given back, and reports whether they have in time.
func (c *drainBatch) finish(ctx context.Context) bool {
	for _, f := range c.flights {
		c.store.send(f)
	}
	c.party.leave()
	late := c.party.wait(ctx, c.store.options.Timeout)
	c.begin()
	return late == nil
}
