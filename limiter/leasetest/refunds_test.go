package leasetest

import (
	"context"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// reduces returns what takes events off the newest of some admissions.
func reduces(admissions *[]admission) func(int64) {
	newest := len(*admissions) - 1
	return func(n int64) { (*admissions)[newest].n -= n }
}

// refunds returns what notes that some events of the newest admitted take are about to be refunded.
// From then on they do not count, as if they had never been taken: what is admitted in their place
// must fit without them at any time.
func (c *checker) refunds(n *simNode, key int, take *limiter.Take) func(int64) {
	k := &c.outcomes[key]
	if c.variety.refunds+c.variety.charges == 0 || c.light {
		return nil
	}
	reduce, at := reduces(&k.admissions), take.Decision.At
	isLog := take.Rule.Algorithm.Kind == limiter.SlidingWindowLog
	return func(events int64) {
		k.admitted -= events
		if isLog && take.Decision.Source == limiter.FromStore && k.gaveBackSince(at) {
			// The log may have given back the events already. Then it refunds others of about that time.
			k.changes = append(k.changes, change{kind: givenBack, at: c.now(), n: float64(events)})
		} else {
			reduce(events)
		}
		if take.Decision.Source == limiter.FromLease {
			n.sumsOf(key).spent -= events
			n.key(key).unspend(take.Origin.Leases, events)
		}
	}
}

// gaveBackSince reports whether quota was added since the instant at.
func (k *outcome) gaveBackSince(at limiter.Instant) bool {
	return slices.ContainsFunc(k.changes, func(c change) bool { return c.kind == givenBack && c.at >= at })
}

// unspend has events go back to the leases that they were spent of, the newer one first.
func (h *heldKey) unspend(spent [2]limiter.Events, events int64) {
	for i := len(spent) - 1; i >= 0; i-- {
		n := min(events, spent[i].N)
		events -= n
		for j := range h.leases {
			if l := &h.leases[j]; l.at == spent[i].At {
				l.left += n
				break
			}
		}
	}
}

// refundLater has some of an admitted take refunded after a while, unless the node has crashed by
// then.
func (n *simNode) refundLater(key int, k limiter.Take, refund func(int64)) {
	k.Cost = 1 + n.rng.Int64N(k.Cost)
	wait := min(2*sec, int64(n.rng.ExpFloat64()*oneOf[float64](n.rng, ms, 50*ms, sec)))
	n.driver.Add(1)
	n.afterUnlocked(wait, func() {
		defer n.driver.Done()
		n.mu.Lock()
		if n.gone || n.ended {
			n.mu.Unlock()
			return
		}
		n.tracef(key, "%v refunds %d", n, k.Cost)
		refund(k.Cost)
		n.mu.Unlock()
		_ = n.store.Refund(context.Background(), n.clock(), []limiter.Take{k}) // what is not refunded is lost
	})
}

// Refund implements [limiter.Store].
func (n *simNode) Refund(_ context.Context, _ limiter.Instant, takes []limiter.Take) (err error) {
	for _, k := range takes {
		l := limiter.LeaseRequest{Rule: k.Rule, Key: k.Key}
		failed := n.ask(n.moment, func() {
			s, served := n.simulation.store, limiter.Events{At: k.Decision.At, N: k.Cost}
			n.tracef(keyOf(&l), "store refunds %d of %v", k.Cost, sinceEpoch(served.At))
			g := s.ledger(&l)
			g.Refund(k.Rule, n.now(), served, k.Decision.Seen())
			n.fault.afterRefund(g, &k, n.now())
			n.checker.outcomes[keyOf(&l)].vain.add(served, n.now())
		})
		if failed != nil {
			err = failed
		}
	}
	return err
}

// ask has the store do something, when a request takes this long, and waits for its answer. It may
// be done though none comes.
func (n *simNode) ask(when func(us int64) time.Duration, do func()) error {
	n.mu.Lock()
	if n.gone || n.happens(n.net.loseRequest) {
		n.mu.Unlock()
		return errLost
	}
	ended := make(chan error, 2)
	time.AfterFunc(when(n.wayOfRequest()), func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		do()
		if !n.happens(n.net.loseAnswer) {
			n.afterUnlocked(n.way(), func() { ended <- nil })
		}
	})
	timeout := n.afterUnlocked(callTime, func() { ended <- errLost })
	n.mu.Unlock()
	defer timeout.Stop()
	return <-ended
}
