package leasetest

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// chargeLater has a response come after a while, which says that the request has cost more than the
// take: its node charges the rest, unless it has crashed by then.
func (n *simNode) chargeLater(key int, k limiter.Take) {
	k.Cost, k.Origin = 1+n.rng.Int64N(oneOf(n.rng, 1, 3, 3*k.Cost, k.Rule.Capacity())), nil
	wait := min(2*sec, int64(n.rng.ExpFloat64()*oneOf[float64](n.rng, ms, 50*ms, sec)))
	n.driver.Add(1)
	n.afterUnlocked(wait, func() {
		defer n.driver.Done()
		n.mu.Lock()
		gone := n.gone || n.ended
		n.mu.Unlock()
		if gone {
			return
		}
		p := payment{node: n, key: key, at: n.now(), cost: k.Cost}
		_ = n.store.Charge(context.WithValue(context.Background(), paymentOf{}, &p), n.clock(), []limiter.Take{k})
		p.noteLeases(k.Rule, 0)
	})
}

// A payment is a charge that is under way. What the node has leased is spent first, and the store
// is charged the rest.
type payment struct {
	node  *simNode
	key   int
	at    limiter.Instant
	cost  int64
	noted bool // what was spent of leases
}

// paymentOf is the key of a context, which has the payment.
type paymentOf struct{}

// noteLeases notes what was spent of leases, when the store is about to be charged the rest or
// nothing. Those that were debited before a reset count before it: it is not known which these are.
func (p *payment) noteLeases(r *limiter.Rule, rest int64) {
	n, spent := p.node, p.cost-rest
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.noted || spent == 0 {
		p.noted = true
		return
	}
	p.noted = true
	k := &n.checker.outcomes[p.key]
	n.tracef(p.key, "%v charges %d to leases", n, spent)
	n.sumsOf(p.key).spent += spent
	isBucket := r.Algorithm.Kind == limiter.TokenBucket
	if !isBucket && !n.key(p.key).spend(spent, p.at) {
		n.checker.failf(p.key, "%v: charges %d to leases, which no lease has left", n, spent)
	}
	if isBucket || k.restarted == 0 {
		k.changes = append(k.changes, change{kind: charged, at: p.at, n: float64(spent)})
	}
}

// Charge implements [limiter.Store].
func (n *simNode) Charge(ctx context.Context, _ limiter.Instant, takes []limiter.Take) (err error) {
	for _, k := range takes {
		if p, ok := ctx.Value(paymentOf{}).(*payment); ok {
			p.noteLeases(k.Rule, k.Cost)
		}
		failed := n.change(k.Rule, k.Key, func(key int, g *Ledger, now limiter.Instant) change {
			before := consumedOf(k.Rule, g.state(k.Rule, now))
			g.uncounted(func() { g.Charge(k.Rule, now, n.fault.chargeOf(k.Cost)) })
			n.simulation.store.unsynced[key] += k.Cost
			n.tracef(key, "store charges %d", k.Cost)
			all, cost := float64(k.Rule.Capacity()), float64(k.Cost)
			return change{kind: charged, n: cost, over: max(0, min(cost, before+cost-all))}
		})
		if failed != nil {
			err = failed
		}
	}
	return err
}
