package membership

import (
	"context"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// Nodes tell each other their top keys, the keys that use a zone most, only while a node asks. That
// node writes the name of the zone to Redis, and Redis names the zone in its replies to announcements.
// From then on, each node writes its top keys to Redis, as bytes that this package does not interpret.
const (
	topWantedFor  = 10 * time.Second
	topWriteEvery = 2 * time.Second

	// topUsedFor is the highest age of top keys that a node reads.
	topUsedFor = 5 * time.Second

	// topNodesPerCall bounds the number of nodes in one reply of Redis. The top keys of a node take up
	// to 17 kB.
	topNodesPerCall = 32
)

var (
	wantTopScript  = redisconn.NewScript(lua.WantTop())
	writeTopScript = redisconn.NewScript(lua.WriteTop())
	readTopScript  = redisconn.NewScript(lua.ReadTop())
)

// A wantedTop is a zone whose top keys are wanted, according to one primary.
type wantedTop struct {
	at   int // index of the primary's keys in Member.keys
	zone string
}

// wantedKey and topKey return the key of Redis for the names of wanted zones, and the key for the top
// keys of a zone.
func wantedKey(keys []string) string { return keys[3] }

func topKey(keys []string, zone string) string {
	const end = "-wanted"
	return keys[3][:len(keys[3])-len(end)] + ":" + zone
}

// noteWanted adds the wanted zones that reply names. reply is a part of the reply to an announcement.
func (m *Member) noteWanted(at int, reply any) {
	zones, _ := reply.([]any)
	for _, z := range zones {
		if zone, isText := z.(string); isText {
			m.wanted = append(m.wanted, wantedTop{at, zone})
		}
	}
}

// writeTops writes the top keys of the wanted zones. It forgets zones that are no longer wanted.
func (m *Member) writeTops(ctx context.Context) {
	m.mu.Lock()
	top := m.currentLocked().top
	m.mu.Unlock()
	if len(m.wanted) == 0 || top == nil {
		return
	}
	calls := make([]*redisconn.Call, len(m.wanted))
	for i, w := range m.wanted {
		keys := m.keys[w.at]
		calls[i] = &redisconn.Call{
			Script: writeTopScript, Keys: []string{wantedKey(keys), topKey(keys, w.zone)},
			Args: []any{"", w.zone, m.name, top(w.zone), topUsedFor.Microseconds()},
		}
	}
	m.do(ctx, calls...)
	still := m.wanted[:0]
	for i, c := range calls {
		if n, _ := c.Reply.(int64); c.Err != nil || n == 1 {
			still = append(still, m.wanted[i])
		}
	}
	m.wanted = still
}

// Tops asks the other nodes for their top keys of a zone. It returns the top keys that Redis has, from
// nodes that have noticed an earlier call, and the number of nodes that are alive. It returns an error
// if Redis does not answer.
func (m *Member) Tops(ctx context.Context, zone string) (tops [][]byte, nodes int, err error) {
	alive, err := m.List(ctx)
	if err != nil {
		return nil, 0, err
	}
	var others []any
	for _, n := range alive {
		if n.Name != m.name {
			others = append(others, n.Name)
		}
	}
	for _, keys := range m.keys { // one primary that answers is enough
		want := &redisconn.Call{
			Script: wantTopScript, Keys: []string{wantedKey(keys)}, Args: []any{"", zone, topWantedFor.Microseconds()},
		}
		calls := []*redisconn.Call{want}
		for some := range slices.Chunk(others, topNodesPerCall) {
			calls = append(calls, &redisconn.Call{
				Script: readTopScript, Keys: []string{topKey(keys, zone)},
				Args: append([]any{"", topUsedFor.Microseconds()}, some...),
			})
		}
		m.do(ctx, calls...)
		if err = want.Err; err != nil {
			continue
		}
		for _, c := range calls[1:] {
			reply, _ := c.Reply.([]any)
			for _, r := range reply {
				if top, _ := r.(string); top != "" {
					tops = append(tops, []byte(top))
				}
			}
		}
		return tops, len(others) + 1, nil
	}
	return nil, 0, err
}
