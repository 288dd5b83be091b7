package lease

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A crowd is the keys that have no account, as they found no room or their zone is closed. It has
// one account per rule, by which all these keys together are decided when the lender cannot: like
// one key.
type crowd struct {
	mu       sync.Mutex
	accounts map[uint32]account // by rule ID
}

// decide has the account of a rule decide.
func (c *crowd) decide(r *limiter.Rule, decide func(a account)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, found := c.accounts[r.ID]
	if !found {
		if c.accounts == nil {
			c.accounts = make(map[uint32]account)
		}
		a = account{new(hot), new(cold)}
		c.accounts[r.ID] = a
	}
	decide(a)
}
