package lease

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/share"
)

// A crowd is the keys of a zone that have no account, because the zone was full or is closed. They
// share at most 4096 accounts per rule. If the lender cannot decide, such an account decides for
// all keys that share it, as if they were one key. A client gets at most a share of all these
// accounts.
type crowd struct {
	mu       sync.Mutex
	accounts map[crowdID]crowdAccount
	shares   share.Shares
}

type crowdID struct {
	rule  uint32
	count uint16
}

type crowdAccount struct {
	account
	rule *limiter.Rule // of its newest take
}

// accountLocked returns the account that decides a take under r. hash is the hash of the key.
func (c *crowd) accountLocked(r *limiter.Rule, hash uint64) account {
	id := crowdID{r.ID, share.Of(hash)}
	a, found := c.accounts[id]
	if !found {
		if c.accounts == nil {
			c.accounts = make(map[crowdID]crowdAccount)
		}
		a.account = account{new(hot), new(cold)}
	}
	if a.rule != r {
		a.rule = r
		c.accounts[id] = a
	}
	return a.account
}

// decideWithCrowd has the crowd of z decide t, which has failed.
func (s *Store) decideWithCrowd(z *Accounts, t *takeState, now instant) {
	c := &z.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.accountLocked(t.Rule, z.accounts.Hash(t.Rule.ID, t.Key))
	s.decideFailed(t, a, now)
	if t.state != admitted || t.Rule.OnOutage != limiter.OutageLocal {
		return
	}
	bucket, client := t.Rule.InOutage(s.options.OutageNodes()), c.shares.Of(t.Take)
	if client.Allows(now.forCaller(), bucket.Capacity, t.Rule.FillTime(), t.Cost) {
		client.Add(t.Cost)
		return
	}
	a.undoInOutage(t.Cost)
	client.Deny(&t.Decision)
	t.state, t.Decision.Breach = denied, a.breaches(t.Rule, now)
}

// sweep removes the idle accounts, which are as good as new ones. nodes is how many nodes share the
// limit in an outage.
func (c *crowd) sweep(now instant, nodes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, a := range c.accounts {
		if a.idle(a.rule, now, idleFor, nodes) {
			delete(c.accounts, id)
		}
	}
	if len(c.accounts) == 0 {
		c.accounts = nil
	}
	c.shares.Sweep(now.forCaller())
}
