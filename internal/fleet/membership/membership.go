// Package membership lets the nodes that share counts in Redis know of each other.
//
// Each node announces itself every few seconds, with a digest of each of its zones. So each node learns
// how many nodes are alive, and which of them define a zone differently. Without a warning, nodes that
// give one name to two zones would mix their counts, or keep them apart, in silence.
//
// Announcements go to three keys in distant slots of a cluster, so nodes still know of each other while
// one primary is down.
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

// A Member is the membership of this node in the fleet. Use [Join].
type Member struct {
	do     func(context.Context, ...*redisconn.Call)
	keys   [][]string // by call
	name   string
	report func(Mismatch)

	// Requests read these.
	alive   atomic.Int64 // nodeCount.nodes; 0 if Redis has not answered yet
	fixed   atomic.Int64 // the fixed number of nodes; 0 if nodes are counted
	differs atomic.Pointer[[]Mismatch]

	mu      sync.Mutex
	defined []definitions // in the order of Define; the last one is announced

	// The following fields belong to the loop.
	announced  string // the text of the last announcement; "" if the node has announced nothing, or has withdrawn
	mismatches mismatches
	nodeCount  nodeCount
	wanted     []wantedTop

	wake chan struct{} // has a value after a change of defined
	stop context.CancelFunc
	loop sync.WaitGroup
}

// definitions are what one owner has given to Define.
type definitions struct {
	owner any
	zones map[string]Definition
	nodes int
	top   func(zone string) []byte // see Define
}

// Join returns a member of the fleet whose nodes share prefix. The member announces its zones: see
// Define. It calls report for a mismatch that two consecutive announcements have found. It does not
// report that mismatch again until the mismatch has gone or the definitions of this node change. When a
// zone has no mismatch any more, it reports that once. The calls of report are not concurrent. Call
// Leave to end the membership.
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

// Nodes returns the number of nodes that are alive, including this one, or the number that the
// definitions fix. A counted number falls only after expireAfter. It is 1 until Redis has answered: see
// Known.
func (m *Member) Nodes() int {
	if n := m.fixed.Load(); n > 0 {
		return int(n)
	}
	return int(max(1, m.alive.Load()))
}

// Known returns the result of Nodes. known is true if that number is fixed or if Redis has ever
// answered.
func (m *Member) Known() (nodes int, known bool) {
	return m.Nodes(), m.fixed.Load() > 0 || m.alive.Load() > 0
}

// Mismatches returns the zones that other nodes define differently. Callers do not change the slice.
func (m *Member) Mismatches() []Mismatch {
	if all := m.differs.Load(); all != nil {
		return *all
	}
	return nil
}

// Define announces the zones of owner instead of those that other owners have defined, until Undefine
// is called for owner. The node is a member of the fleet, and counts as one, while it has zones. nodes
// is the number that Nodes returns; if it is 0, nodes are counted. top returns what other nodes get if
// they ask for the top keys of a zone: see Tops. It may be nil.
func (m *Member) Define(owner any, zones map[string]Definition, nodes int, top func(zone string) []byte) {
	m.change(func() { m.defined = append(m.defined, definitions{owner, maps.Clone(zones), nodes, top}) })
}

// Undefine removes the definitions of owner. The node then announces the newest definitions that are
// left.
func (m *Member) Undefine(owner any) {
	m.change(func() {
		if i := slices.IndexFunc(m.defined, func(d definitions) bool { return d.owner == owner }); i >= 0 {
			m.defined = slices.Delete(m.defined, i, i+1)
		}
	})
}

// change calls apply, which changes m.defined, and wakes the loop, which announces the change.
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

// currentLocked returns the definitions that are announced. They have no zones if there are no
// definitions.
func (m *Member) currentLocked() definitions {
	if len(m.defined) == 0 {
		return definitions{}
	}
	return m.defined[len(m.defined)-1]
}

// Leave ends the membership. If Redis can be reached, it removes this node at once. Leave waits for
// that as long as a request waits for Redis.
func (m *Member) Leave() {
	m.stop()
	m.loop.Wait()
	m.withdraw(context.Background())
}

// run announces this node until ctx ends.
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
