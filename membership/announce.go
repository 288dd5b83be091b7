package membership

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

var announceScript = redisconn.NewScript(lua.Announce())

// keys returns the pairs of keys that nodes announce themselves under, as announce.lua has them. What is between the braces
// puts the pairs into slots 15495, 3300 and 7365 of 16384: on a cluster whose slots are spread evenly, into those of three
// primaries. They are not the keys of counts, which end with the brace, or after it with the number of a rule.
func keys(prefix string) (pairs [][]string) {
	for _, tag := range []string{"a", "b", "c"} {
		pairs = append(pairs, []string{prefix + ":{" + tag + "}:nodes", prefix + ":{" + tag + "}:zones"})
	}
	return pairs
}

// nodeName returns a name that tells an operator which host it is, and this process from all others.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:6])
}

// announce says how zones are defined here, hears how many nodes there are, and reports who defines zones otherwise. A node
// that has no zones any longer is gone for the others. Without Redis nothing is heard: the next announcement will do.
func (m *Member) announce(ctx context.Context, now time.Time) {
	zones := m.zones()
	if len(zones) == 0 {
		m.withdraw(ctx)
		return
	}
	mine := digests(zones)
	says, before := encode(mine), m.said
	if says != before {
		m.said, m.heard = says, nil
	}
	counts, others := m.say(ctx, says, before)
	m.census = m.census.count(now, counts, len(counts) == len(m.keys))
	m.alive.Store(int64(m.census.nodes))
	if len(counts) > 0 {
		m.presence = m.presence.announced(now)
	}
	m.settled.Store(m.presence.settled(now))
	if len(counts) == 0 {
		return
	}
	var news []Mismatch
	m.heard, news = m.heard.hear(mine, others)
	for _, d := range news {
		m.report(d)
	}
}

// withdraw takes back what this node has announced.
func (m *Member) withdraw(ctx context.Context) {
	if m.said == "" {
		return
	}
	before := m.said
	m.said, m.heard, m.presence, m.census = "", nil, liveness{}, m.census.paused()
	m.settled.Store(false)
	m.say(ctx, "", before)
}

// say runs announce.lua for each pair of keys. It returns the number of nodes by each reply, and by all that is said
// otherwise the name of a node that says so.
func (m *Member) say(ctx context.Context, says, before string) (counts []int, others map[string]string) {
	calls := make([]*redisconn.Call, len(m.keys))
	for i, pair := range m.keys {
		calls[i] = &redisconn.Call{
			Script: announceScript, Keys: pair, Args: []any{"", m.name, says, before, ExpireAfter.Microseconds()},
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
