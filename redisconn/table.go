package redisconn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// slotCount is the number of slots of a cluster.
const slotCount = 16384

// crcTable holds the CRC-16 of every byte, by the polynomial of XMODEM.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}()

// slotOf returns the slot of key, which depends on its hash tag only, if it has one: the text
// between the first { and the next }.
func slotOf(key string) int {
	if _, tail, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(tail, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return int(crc % slotCount)
}

// A view is what one node knows about all nodes.
type view struct {
	// epoch orders the views. A failover raises the first number. The second is the epoch of the
	// node's own promotion: of two nodes that know of a failover, the new primary is believed.
	epoch     [2]int64
	primaries []slots
	nodes     []string // all that can be asked, replicas too
}

// slots is a range of slots and the address of its primary.
type slots struct {
	first, last int
	addr        string
}

// newer reports whether v knows of later events than other.
func (v *view) newer(other *view) bool { return slices.Compare(v.epoch[:], other.epoch[:]) > 0 }

// A table maps slots to the queues of their primaries. It never changes.
type table struct {
	queues []*queue
	slots  []uint16 // one more than the index in queues; 0: no primary is known. Nil: queues[0] has all slots
}

// queue returns the queue of the primary of slot, or nil.
func (t *table) queue(slot int) *queue {
	if t.slots == nil {
		return t.queues[0]
	}
	if i := t.slots[slot]; i > 0 {
		return t.queues[i-1]
	}
	return nil
}

// primaries returns the queues of the primaries; none before the first load.
func (c *Client) primaries() []*queue {
	if t := c.table.Load(); t != nil {
		return t.queues
	}
	return nil
}

// failing reports whether a primary fails or is silent, or none is known.
func (c *Client) failing() bool {
	all := c.primaries()
	return len(all) == 0 || slices.ContainsFunc(all, func(q *queue) bool { return q.health.failing.Load() })
}

const (
	// queueIdle is how long the queue of a server that is no longer a primary is kept unused.
	queueIdle = 10 * time.Second

	// maxPrimaries is the most primaries of a cluster. Redis recommends at most 1000 nodes.
	maxPrimaries = 1000

	// maxQueues is the most queues of a client, so that servers that name ever new primaries do not
	// exhaust this process.
	maxQueues = 2 * maxPrimaries

	// maxStrangers is the most queues of servers that only a redirection names. A server that has
	// just become a primary is one until the next load, which a MOVED causes.
	maxStrangers = 16
)

var (
	errQueues = fmt.Errorf("more than %d servers were named as primaries lately: use a cluster with at most %d",
		maxQueues, maxPrimaries)
	errStrangers = errors.New("redisconn: redirections name too many servers: use a cluster whose CLUSTER SLOTS names them")
)

// use makes v the table in use, unless that needs too many queues. It closes the idle queues of
// servers that are no longer primaries.
func (c *Client) use(v view) error {
	c.mu.Lock()
	idle, err := c.useLocked(v)
	c.mu.Unlock()
	for _, q := range idle {
		q.close()
	}
	return err
}

// useLocked is use, except that the caller closes the idle queues.
func (c *Client) useLocked(v view) (idle []*queue, err error) {
	if c.queues == nil {
		return nil, nil
	}
	index := make(map[string]uint16) // by address, one more than the index in the queues of the table
	missing := 0
	for _, s := range v.primaries {
		if index[s.addr] == 0 {
			index[s.addr] = uint16(len(index) + 1)
			if c.queues[s.addr] == nil {
				missing++
			}
		}
	}
	inUse := c.primaries()
	for addr, q := range c.queues {
		if index[addr] == 0 && !slices.Contains(inUse, q) && q.idleSince(time.Now().Add(-queueIdle)) {
			delete(c.queues, addr)
			idle = append(idle, q)
		}
	}
	if len(c.queues)+missing > maxQueues {
		return idle, errQueues
	}
	t := &table{queues: make([]*queue, len(index))}
	for addr, i := range index {
		t.queues[i-1] = c.queueLocked(addr)
	}
	if s := v.primaries; len(s) != 1 || s[0].first != 0 || s[0].last != slotCount-1 {
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
