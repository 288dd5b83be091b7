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

// keys returns the keys of Redis for each call of an announcement: see announce.lua. There is one call
// per hash tag. The tags are in slots 15495, 3300 and 7365 of 16384, which belong to three primaries of
// a cluster whose slots are spread evenly. These keys cannot be keys of counts, which end with the
// brace or with the number of a rule.
func keys(prefix string) (calls [][]string) {
	for _, tag := range []string{"a", "b", "c"} {
		begin := prefix + ":{" + tag + "}:"
		calls = append(calls, []string{begin + "nodes", begin + "zones", begin + "digests", begin + "top-wanted"})
	}
	return calls
}

// nodeName returns a unique name of this process, in which an operator recognises the host.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:6])
}

// announce announces this node and its zones, updates the number of nodes, and reports mismatches. If
// the node has no zones, it withdraws. If Redis does not answer, the next announcement makes up for
// this one.
func (m *Member) announce(ctx context.Context, now time.Time) {
	m.mu.Lock()
	zones := m.currentLocked().zones
	m.mu.Unlock()
	if len(zones) == 0 {
		m.withdraw(context.WithoutCancel(ctx)) // not by ctx: Leave cancels ctx, but relies on this call
		return
	}
	own := digests(zones)
	encoded, _ := json.Marshal(own) // Marshal cannot fail, and gives equal texts for equal digests
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
	m.writeTops(ctx)
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
	m.nodeCount = nodeCount{nodes: m.nodeCount.nodes} // from now on, announcements of other nodes are unknown
	m.exchange(ctx, "", before)
}

// announcers are the nodes that have made one announcement.
type announcers struct {
	node  string // one of them
	nodes int    // how many they are
}

// exchange runs announce.lua for all keys. It returns the number of nodes in each reply. others has the
// announcements of other nodes by their texts, with the nodes that have made them. exchange also sets
// m.wanted to the zones whose top keys are wanted.
func (m *Member) exchange(ctx context.Context, text, before string) (counts []int, others map[string]announcers) {
	calls := make([]*redisconn.Call, len(m.keys))
	for i, keys := range m.keys {
		calls[i] = &redisconn.Call{
			Script: announceScript, Keys: keys, Args: []any{"", m.name, text, before, expireAfter.Microseconds()},
		}
	}
	m.do(ctx, calls...)
	others, m.wanted = make(map[string]announcers), nil
	for at, c := range calls {
		reply, _ := c.Reply.([]any)
		if c.Err != nil || len(reply) == 0 {
			continue
		}
		count, _ := reply[0].(int64)
		counts = append(counts, int(count))
		if len(reply) > 1 {
			m.noteWanted(at, reply[1])
		}
		for i := 2; i+2 < len(reply); i += 3 {
			node, _ := reply[i].(string)
			other, _ := reply[i+1].(string)
			nodes, _ := reply[i+2].(int64)
			others[other] = announcers{node, max(others[other].nodes, int(nodes))}
		}
	}
	return counts, others
}
