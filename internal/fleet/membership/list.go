package membership

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A Node is a node of a fleet.
type Node struct {
	Name string        // host/process/run
	Seen time.Duration // time since its last announcement
}

// Name returns the name of this node.
func (m *Member) Name() string { return m.name }

// List returns the nodes that are alive, ordered by name. It returns an error if no primary answers.
func (m *Member) List(ctx context.Context) ([]Node, error) {
	calls := make([]*redisconn.Call, len(m.keys))
	for i, keys := range m.keys {
		calls[i] = &redisconn.Call{Script: nodesScript, Keys: keys[:1], Args: []any{"", expireAfter.Microseconds()}}
	}
	m.do(ctx, calls...)
	seen := make(map[string]time.Duration)
	var failed error
	answered := false
	for _, c := range calls {
		if c.Err != nil {
			failed = c.Err
			continue
		}
		answered = true
		reply, _ := c.Reply.([]any)
		for i := 0; i+1 < len(reply); i += 2 {
			name, _ := reply[i].(string)
			ms, _ := reply[i+1].(int64)
			ago := time.Duration(ms) * time.Millisecond
			if other, found := seen[name]; !found || ago < other {
				seen[name] = ago
			}
		}
	}
	if !answered {
		return nil, failed
	}
	nodes := make([]Node, 0, len(seen))
	for name, ago := range seen {
		nodes = append(nodes, Node{name, ago})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}
