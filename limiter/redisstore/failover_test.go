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

// maybeFailOver sometimes goes back to an earlier state, like a failover that loses the newest
// writes. The nodes still know what they have seen.
func (h *leaseHistory) maybeFailOver(t *testing.T) {
	t.Helper()
	switch h.IntN(20) {
	case 0:
		h.replica = h.copyState(t)
	case 1:
		if h.replica.dumps != nil {
			h.restore(t, h.replica)
		}
	}
}

func (h *leaseHistory) copyState(t *testing.T) replica {
	t.Helper()
	redis, ctx := h.failsOver, t.Context()
	r := replica{make(map[string]string), cloned(h.ledgers)}
	for _, name := range redis.Keys(ctx, h.nodes[0].prefix+":*").Val() {
		r.dumps[name] = redis.Dump(ctx, name).Val()
	}
	return r
}

func (h *leaseHistory) restore(t *testing.T, r replica) {
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
	h.granted, h.served, h.taken = nil, nil, nil // another incarnation accepts no returns
}

func cloned(ledgers map[account]*leasetest.Ledger) map[account]*leasetest.Ledger {
	c := maps.Clone(ledgers)
	for a, g := range c {
		c[a] = g.Clone()
	}
	return c
}
