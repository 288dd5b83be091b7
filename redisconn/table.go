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
		crc = crc<<8 ^ crc16[byte(crc>>8)^key[i]]
	}
	return int(crc % slotCount)
}

// crc16 has the CRC-16 of each byte, by the polynomial of XMODEM.
var crc16 = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
		table[i] = crc
	}
	return table
}()

// A table maps slots to the queues of their primaries. It never changes. The zero value is that of
// a client that knows no primary yet.
type table struct {
	queues []*queue
	slots  [slotCount]*queue // nil where no primary is known
}

// Failing reports whether some primary gets no calls, or no primary is known.
func (c *Client) Failing() bool {
	all := c.table.Load().queues
	return len(all) == 0 || slices.ContainsFunc(all, func(q *queue) bool { return !q.breaker.admits() })
}

const (
	// queueIdle is how long the queue of a server that is no longer a primary is kept unused.
	queueIdle = 10 * time.Second

	// maxPrimaries is the most primaries of a cluster. Redis recommends at most 1000 nodes.
	maxPrimaries = 1000

	// maxQueues is the most queues of a client, so that servers that name ever new primaries do not
	// exhaust this process.
	maxQueues = 2 * maxPrimaries

	// maxStrangers is the most queues of servers that only redirections name. A server that has just
	// become a primary is named by redirections only until the next load, which a MOVED causes.
	maxStrangers = 16
)

var (
	errQueues = fmt.Errorf("more than %d servers were named as primaries lately: use a cluster with at most %d",
		maxQueues, maxPrimaries)
	errStrangers = errors.New("redisconn: redirections name too many servers: use a cluster whose CLUSTER SLOTS names them")
)

// use puts a table of v in use. It fails if that needs too many queues. It closes the idle queues of
// servers that are no longer primaries. If a server is a primary again and the breaker of its old queue
// is not closed, it gets a new queue: what opened the breaker is past.
func (c *Client) use(v view) error {
	c.mu.Lock()
	ended, err := c.useLocked(v)
	c.mu.Unlock()
	for _, q := range ended {
		q.close()
	}
	return err
}

// useLocked is use, except that the caller closes the queues that end.
func (c *Client) useLocked(v view) (ended []*queue, err error) {
	if c.queues == nil {
		return nil, nil
	}
	addrs := make(map[string]bool)
	for _, s := range v.primaries {
		addrs[s.addr] = true
	}
	before := c.table.Load()
	inUse := before.queues
	for addr, q := range c.queues {
		if slices.Contains(inUse, q) {
			continue
		}
		if addrs[addr] && !q.breaker.admits() || !addrs[addr] && q.idleSince(time.Now().Add(-queueIdle)) {
			delete(c.queues, addr)
			ended = append(ended, q)
		}
	}
	needed := len(c.queues)
	for addr := range addrs {
		if c.queues[addr] == nil {
			needed++
		}
	}
	if needed > c.maxQueues {
		return ended, errQueues
	}
	t := new(table)
	for addr := range addrs {
		t.queues = append(t.queues, c.queueLocked(addr))
	}
	for _, s := range v.primaries {
		for slot := s.first; slot <= s.last; slot++ {
			t.slots[slot] = c.queues[s.addr]
		}
	}
	for slot := slotCount - 1; slot >= 0; slot-- { // so that the first slot of a primary is noted last
		if was, is := before.slots[slot], t.slots[slot]; was != nil && is != nil && was != is {
			was.successor.Store(&is.addr)
		}
	}
	c.table.Store(t)
	return ended, nil
}
