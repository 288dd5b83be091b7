package redisconn

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A view is what one node says about the others.
type view struct {
	// epoch orders the views: a failover raises the first number, and the second is that of the node's own promotion, so
	// that of two that know of a failover the new primary itself is believed.
	epoch     [2]int64
	primaries []slots
	nodes     []string // all that can be asked, replicas too
}

// slots says that the primary at addr owns the slots first to last.
type slots struct {
	first, last int
	addr        string
}

// newer reports whether v knows of later events than other.
func (v *view) newer(other *view) bool {
	if v.epoch[0] != other.epoch[0] {
		return v.epoch[0] > other.epoch[0]
	}
	return v.epoch[1] > other.epoch[1]
}

// A table says which queue is that of a slot's primary. It is not changed once it is in use.
type table struct {
	queues []*queue
	slots  []uint16 // by slot, one more than the index in queues; 0 where no primary is known. Nil: queues[0] owns all
}

// queue returns the queue of the primary of slot, nil where none is known.
func (t *table) queue(slot int) *queue {
	if t.slots == nil {
		return t.queues[0]
	}
	if i := t.slots[slot]; i > 0 {
		return t.queues[i-1]
	}
	return nil
}

const (
	// queueIdle is how long the queue of a server that is no primary any more is kept unused.
	// Callers that found it in an earlier table have long queued their calls by then.
	queueIdle = 10 * time.Second

	// maxPrimaries is the most primaries of one cluster: Redis itself recommends at most 1000
	// nodes.
	maxPrimaries = 1000

	// maxQueues is the most queues of a client, so that servers that name ever new primaries do not
	// exhaust this process.
	maxQueues = 2 * maxPrimaries

	// maxStrangers is the most queues to servers that only a redirection names. A server that has
	// just become a primary is one until the next load, which a MOVED asks for.
	maxStrangers = 16
)

var (
	errQueues    = fmt.Errorf("more than %d servers were named as primaries lately", maxQueues)
	errStrangers = errors.New("redisconn: redirections name too many servers that are not known as primaries")
)

// use makes v what the client knows, unless that takes too many queues. Queues of servers that are
// not primaries any more end when they are idle.
func (c *Client) use(v view) error {
	c.mu.Lock()
	idle, err := c.useLocked(v)
	c.mu.Unlock()
	for _, q := range idle {
		q.close()
	}
	return err
}

// useLocked is use, but that the queues which end are the caller's to close.
func (c *Client) useLocked(v view) (idle []*queue, err error) {
	if c.queues == nil {
		return nil, nil
	}
	index := make(map[string]uint16) // by address, one more than the index in the queues of the table
	missing := 0
	for _, s := range v.primaries {
		if _, found := index[s.addr]; found {
			continue
		}
		index[s.addr] = uint16(len(index) + 1)
		if c.queues[s.addr] == nil {
			missing++
		}
	}
	idle = c.dropIdleLocked(index)
	if len(c.queues)+missing > maxQueues {
		return idle, errQueues
	}

	t := &table{queues: make([]*queue, len(index))}
	for addr, i := range index {
		t.queues[i-1] = c.queueAtLocked(addr)
	}
	if len(v.primaries) != 1 || v.primaries[0].first != 0 || v.primaries[0].last != slotCount-1 {
		t.slots = make([]uint16, slotCount)
		for _, s := range v.primaries {
			for slot := s.first; slot <= s.last; slot++ {
				t.slots[slot] = index[s.addr]
			}
		}
	}
	c.table.Store(t)
	return idle, nil
}

// dropIdleLocked removes the idle queues of servers that are neither primaries in index nor in the
// table in use.
func (c *Client) dropIdleLocked(index map[string]uint16) (idle []*queue) {
	var inUse []*queue
	if t := c.table.Load(); t != nil {
		inUse = t.queues
	}
	for addr, q := range c.queues {
		if index[addr] == 0 && !slices.Contains(inUse, q) && q.idleSince(time.Now().Add(-queueIdle)) {
			delete(c.queues, addr)
			idle = append(idle, q)
		}
	}
	return idle
}

// strangersLocked returns how many queues lead to servers that are not in the table.
func (c *Client) strangersLocked() int {
	n := len(c.queues)
	if t := c.table.Load(); t != nil {
		n -= len(t.queues)
	}
	return n
}

// failing reports whether a primary in use failed or is silent.
func (c *Client) failing() bool {
	t := c.table.Load()
	if t == nil {
		return true
	}
	for _, q := range t.queues {
		if q.failing.Load() {
			return true
		}
	}
	return false
}
