package lease

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A crowd is the keys that found no room for an account. It has one account per rule: if the lender
// is too busy to reply in time, all these keys together are admitted at most the limit, per node
// and window.
type crowd struct {
	mu       sync.Mutex
	accounts map[uint32]account // by rule ID
}

// takeLate decides k by what was admitted to the crowd.
func (c *crowd) takeLate(k *limiter.Take, now limiter.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, found := c.accounts[k.Rule.ID]
	if !found {
		if c.accounts == nil {
			c.accounts = make(map[uint32]account)
		}
		a = account{new(hot), new(cold)}
		c.accounts[k.Rule.ID] = a
	}
	a.takeLate(k.Rule, now, k.Cost, &k.Decision)
}
