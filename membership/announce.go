package membership

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

var (
	announceScript = redisconn.NewScript(lua.Announce())
	nodesScript    = redisconn.NewScript(lua.Nodes())
)

// keys returns the pairs of keys for announcements: see announce.lua. Their hash tags are in slots
// 15495, 3300 and 7365 of 16384, which belong to three primaries of a cluster whose slots are
// spread evenly. They differ from the keys of counts, which end with the brace or with the number
// of a rule.
func keys(prefix string) (pairs [][]string) {
	for _, tag := range []string{"a", "b", "c"} {
		pairs = append(pairs, []string{prefix + ":{" + tag + "}:nodes", prefix + ":{" + tag + "}:zones"})
	}
	return pairs
}

// nodeName returns a unique name of this process, in which an operator recognises the host.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:6])
}

// announce announces this node and its zones, updates the number of nodes, and reports mismatches.
// A node without zones withdraws. When Redis does not answer, the next announcement makes up for
// it.
func (m *Member) announce(ctx context.Context, now time.Time) {
	m.mu.Lock()
	zones := m.currentLocked().zones
	m.mu.Unlock()
	if len(zones) == 0 {
		m.withdraw(context.WithoutCancel(ctx)) // Leave, which cancels ctx, relies on it
		return
	}
	own := digests(zones)
	encoded, _ := json.Marshal(own) // which cannot fail, and equal digests are equal texts
	text, before := string(encoded), m.announced
	if text != before {
		m.announced, m.mismatches.found = text, nil
	}
	counts, others := m.exchange(ctx, text, before)
	m.nodeCount = m.nodeCount.update(now, counts, len(counts) == len(m.keys))
	m.alive.Store(int64(m.nodeCount.nodes))
	if len(counts) == 0 {
		return
	}
	found, all, news := m.mismatches.update(own, others)
	m.mismatches = found
	m.differs.Store(&all)
	for _, mismatch := range news {
		m.report(mismatch)
	}
}

// withdraw removes the announcement of this node.
func (m *Member) withdraw(ctx context.Context) {
	if m.announced == "" {
		return
	}
	before := m.announced
	m.announced, m.mismatches = "", mismatches{}
	m.differs.Store(nil)
	m.nodeCount = nodeCount{nodes: m.nodeCount.nodes} // what other nodes do from now on is unknown
	m.exchange(ctx, "", before)
}

// exchange runs announce.lua for each pair of keys. It returns the number of nodes in each reply,
// and by each different announcement the name of a node that made it.
func (m *Member) exchange(ctx context.Context, text, before string) (counts []int, others map[string]string) {
	calls := make([]*redisconn.Call, len(m.keys))
	for i, pair := range m.keys {
		calls[i] = &redisconn.Call{
			Script: announceScript, Keys: pair, Args: []any{"", m.name, text, before, ExpireAfter.Microseconds()},
		}
	}
	m.do(ctx, calls...)
	others = make(map[string]string)
	for _, c := range calls {
		reply, _ := c.Reply.([]any)
		if c.Err != nil || len(reply) == 0 {
			continue
		}
		count, _ := reply[0].(int64)
		counts = append(counts, int(count))
		for i := 1; i+1 < len(reply); i += 2 {
			node, _ := reply[i].(string)
			other, _ := reply[i+1].(string)
			others[other] = node
		}
	}
	return counts, others
}
