// Package membership lets the nodes that share counts in Redis know of each other.
//
// Each node announces itself every few seconds, with a digest of each of its zones. So it learns
// how many nodes are alive, and which of them define a zone differently. Without a warning, counts
// of one name with two meanings would be mixed or kept apart in silence.
//
// Announcements go to three keys in distant slots of a cluster, so that nodes still know of each
// other while one primary is down.
package membership

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

const (
	// Interval is the time between two announcements of a node.
	Interval = 5 * time.Second

	// expireAfter is how long a node counts as alive after its last announcement.
	expireAfter = 3 * Interval
)

// A Member is this node's membership in the fleet. Use [Join].
type Member struct {
	do     func(context.Context, ...*redisconn.Call)
	keys   [][]string // of each call
	name   string
	report func(Mismatch)

	// Requests read these.
	alive   atomic.Int64 // as nodeCount has it; 0: Redis has not answered yet
	fixed   atomic.Int64 // 0: the nodes are counted
	differs atomic.Pointer[[]Mismatch]

	mu      sync.Mutex
	defined []definitions // by owner; the last ones are announced

	// The following fields belong to the loop.
	announced  string // the last announcement; empty while there is none
	mismatches mismatches
	nodeCount  nodeCount
	wanted     []wantedTop

	wake chan struct{} // after a change of defined
	stop context.CancelFunc
	loop sync.WaitGroup
}

// definitions are the zones of one owner, by name.
type definitions struct {
	owner any
	zones map[string]Definition
	nodes int
	top   func(zone string) []byte // see Define
}

// Join returns a member of the fleet that shares prefix. It announces itself while it has zones:
// see Define. It calls report for each mismatch that two announcements in a row have found,
// once until it is gone or the definitions of this node change, and when a zone has none any more.
// It never does so concurrently. Call Leave to end the membership.
func Join(client *redisconn.Client, prefix string, report func(Mismatch)) *Member {
	m := newMember(client.Do, prefix, nodeName(), report)
	m.start()
	return m
}

// newMember returns a member whose loop does not run.
func newMember(do func(context.Context, ...*redisconn.Call), prefix, name string, report func(Mismatch)) *Member {
	return &Member{do: do, keys: keys(prefix), name: name, report: report, wake: make(chan struct{}, 1), stop: func() {}}
}

func (m *Member) start() {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.loop.Go(func() { m.run(ctx) })
}

// Nodes returns how many nodes are alive, this one included, or the number that the definitions
// fix. A counted number falls only after expireAfter. It is 1 until Redis has answered: see Known.
func (m *Member) Nodes() int {
	if n := m.fixed.Load(); n > 0 {
		return int(n)
	}
	return int(max(1, m.alive.Load()))
}

// Known returns what Nodes does, and whether Redis has ever answered or the number is fixed.
func (m *Member) Known() (nodes int, known bool) {
	return m.Nodes(), m.fixed.Load() > 0 || m.alive.Load() > 0
}

// Mismatches returns the zones that other nodes define differently. The caller does not change them.
func (m *Member) Mismatches() []Mismatch {
	if all := m.differs.Load(); all != nil {
		return *all
	}
	return nil
}

// Define announces zones for owner, and replaces what other owners defined until Undefine. A node
// is a member, and is counted, while it has zones. nodes fixes what Nodes returns; with 0 the nodes
// are counted. top returns what other nodes get when they ask for the top keys of a zone: see Tops.
// It may be nil.
func (m *Member) Define(owner any, zones map[string]Definition, nodes int, top func(zone string) []byte) {
	m.change(func() { m.defined = append(m.defined, definitions{owner, maps.Clone(zones), nodes, top}) })
}

// Undefine removes the definitions of owner. Then the node announces the last of the others.
func (m *Member) Undefine(owner any) {
	m.change(func() {
		if i := slices.IndexFunc(m.defined, func(d definitions) bool { return d.owner == owner }); i >= 0 {
			m.defined = slices.Delete(m.defined, i, i+1)
		}
	})
}

// change changes m.defined, and announces that soon.
func (m *Member) change(apply func()) {
	m.mu.Lock()
	apply()
	m.fixed.Store(int64(m.currentLocked().nodes))
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // the loop has not handled the last wake yet
	}
}

// currentLocked returns the definitions that count. They have no zones when there are none.
func (m *Member) currentLocked() definitions {
	if len(m.defined) == 0 {
		return definitions{}
	}
	return m.defined[len(m.defined)-1]
}

// Leave ends the membership. Redis removes this node at once if it can be reached; Leave waits for
// it as long as a request would.
func (m *Member) Leave() {
	m.stop()
	m.loop.Wait()
	m.withdraw(context.Background())
}

// run announces until ctx ends.
func (m *Member) run(ctx context.Context) {
	ticker, tops := time.NewTicker(Interval), time.NewTicker(topWriteEvery)
	defer ticker.Stop()
	defer tops.Stop()
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case <-tops.C:
			m.writeTops(ctx)
			continue
		case now = <-ticker.C:
		case <-m.wake:
			now = time.Now()
			ticker.Reset(Interval)
		}
		m.announce(ctx, now)
	}
}
