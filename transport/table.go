package transport

import "time"

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

// use makes v what the client knows. Queues of servers that are not primaries any more end when they are idle.
func (c *Client) use(v view) {
	c.mu.Lock()
	idle := c.useLocked(v)
	c.mu.Unlock()
	for _, q := range idle {
		q.close()
	}
}

// useLocked is use, but that the queues which end are the caller's to close.
func (c *Client) useLocked(v view) (idle []*queue) {
	if c.queues == nil {
		return nil
	}
	t := new(table)
	if len(v.primaries) != 1 || v.primaries[0].first != 0 || v.primaries[0].last != slotCount-1 {
		t.slots = make([]uint16, slotCount)
	}
	index := make(map[string]uint16)
	for _, s := range v.primaries {
		if index[s.addr] == 0 {
			t.queues = append(t.queues, c.queueAtLocked(s.addr))
			index[s.addr] = uint16(len(t.queues))
		}
		for slot := s.first; slot <= s.last && t.slots != nil; slot++ {
			t.slots[slot] = index[s.addr]
		}
	}
	c.table.Store(t)

	for addr, q := range c.queues {
		if index[addr] == 0 && q.idleSince(time.Now().Add(-queueIdle)) {
			delete(c.queues, addr)
			idle = append(idle, q)
		}
	}
	return idle
}

// queueIdle is how long the queue of a server that is no primary any more is kept unused. Callers that found it in the
// last table have long queued their calls by then.
const queueIdle = 10 * time.Second

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
