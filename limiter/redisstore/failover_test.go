package redisstore

import (
	"maps"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// A replica is an earlier state of a store and of its ledgers.
type replica struct {
	dumps   map[string]string
	ledgers map[account]*leasetest.Ledger
}

// maybeFailOver now and then goes back to an earlier state, as a failover does that loses the newest writes. Nodes go on with what
// they have seen.
func (h *lending) maybeFailOver(t *testing.T) {
	t.Helper()
	switch h.IntN(20) {
	case 0:
		h.replica = h.copyState(t)
	case 1:
		if h.replica.dumps != nil {
			h.becomes(t, h.replica)
		}
	}
}

func (h *lending) copyState(t *testing.T) replica {
	t.Helper()
	redis, ctx := h.failsOver, t.Context()
	r := replica{make(map[string]string), cloned(h.ledgers)}
	for _, name := range redis.Keys(ctx, h.nodes[0].prefix+":*").Val() {
		r.dumps[name] = redis.Dump(ctx, name).Val()
	}
	return r
}

func (h *lending) becomes(t *testing.T, r replica) {
	t.Helper()
	redis, ctx := h.failsOver, t.Context()
	for _, name := range redis.Keys(ctx, h.nodes[0].prefix+":*").Val() {
		redis.Del(ctx, name)
	}
	for name, dump := range r.dumps {
		if err := redis.Restore(ctx, name, time.Hour, dump).Err(); err != nil {
			t.Fatal(err)
		}
	}
	h.ledgers = cloned(r.ledgers)
	h.lent, h.served, h.taken = nil, nil, nil // another run takes nothing back
	for _, o := range h.debts {
		o.told = 0 // what the store was told of may be lost
	}
}

func cloned(ledgers map[account]*leasetest.Ledger) map[account]*leasetest.Ledger {
	c := maps.Clone(ledgers)
	for a, g := range c {
		c[a] = g.Clone()
	}
	return c
}
