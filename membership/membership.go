// Package membership lets the nodes that share counts in Redis know of each other. A node announces itself every few seconds and
// says how it defines its zones. So it hears how many nodes there are, and which define a zone differently: counts of one
// name that mean different things would be mixed, or kept apart, without anybody noticing.
//
// Announcements go to three keys in slots of a cluster that are far apart, so that the nodes still know of each other while
// one primary is gone.
package membership

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

const (
	// Interval is the time between two announcements of a node.
	Interval = 5 * time.Second

	// Silence is how long a node is believed to be alive after its last announcement.
	ExpireAfter = 3 * Interval
)

// A Mismatch is a zone that other nodes define otherwise than this one.
type Mismatch struct {
	Zone string
	Node string // one of the others
}

// A Member is the part that this node takes in the fleet. Use [Join].
type Member struct {
	do     func(context.Context, ...*redisconn.Call) // asks Redis
	keys   [][]string                                // of each call
	name   string
	report func(Mismatch)

	// Read on the paths of requests.
	alive   atomic.Int64 // as census has it; 0: nothing was heard yet
	fixed   atomic.Int64 // 0: the nodes are counted
	settled atomic.Bool

	mu      sync.Mutex
	defined []definitions // by owner; the last ones are announced

	// Of the loop:
	said     string // in the last announcement; nothing before the first
	heard    mismatches
	presence liveness
	census   nodeCount

	wake chan struct{} // says that defined was changed
	stop context.CancelFunc
	loop sync.WaitGroup
}

// definitions are the zones of one owner: by name, a text that two nodes have in common when they define a zone alike.
type definitions struct {
	owner any
	zones map[string]string
	nodes int
}

// Join returns a member of the fleet that shares prefix, and starts announcing as soon as there is something to announce.
// report is called for each difference that has been heard of in two announcements, once for as long as it lasts and the
// definitions of this node do not change; never by two goroutines at a time. Leave ends the membership.
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

// Nodes returns how many nodes of the fleet are alive, this one included: as many as the definitions fix, else as many as
// announcements heard of. That number falls a Silence late, see census. Before Redis has answered it is 1, and says nothing: Settled
// is false then.
func (m *Member) Nodes() int {
	if n := m.fixed.Load(); n > 0 {
		return int(n)
	}
	return int(max(1, m.alive.Load()))
}

// Settled reports whether this node has announced itself for two intervals, so that all others count it. It is false again
// when Redis has not heard of this node for so long that the others may be about to forget it, and does not depend on
// whether the number of nodes is fixed: a node that has just started does not know what it did before.
func (m *Member) Settled() bool { return m.settled.Load() }

// Define announces zones for owner, in place of what was defined before; Undefine takes that back. A node takes part, and is
// counted, while it has zones. nodes fixes what Nodes returns; 0 has the nodes counted.
func (m *Member) Define(owner any, zones map[string]string, nodes int) {
	m.mu.Lock()
	m.defined = append(m.defined, definitions{owner, maps.Clone(zones), nodes})
	m.fixLocked()
	m.mu.Unlock()
	m.announceSoon()
}

// Undefine takes back what owner defined. What is announced then is what the last of the others defined.
func (m *Member) Undefine(owner any) {
	m.mu.Lock()
	for i, d := range m.defined {
		if d.owner == owner {
			m.defined = append(m.defined[:i:i], m.defined[i+1:]...)
			break
		}
	}
	m.fixLocked()
	m.mu.Unlock()
	m.announceSoon()
}

// fixLocked takes the number of nodes that is fixed from the definitions. m.mu is held.
func (m *Member) fixLocked() {
	fixed := 0
	if n := len(m.defined); n > 0 {
		fixed = m.defined[n-1].nodes
	}
	m.fixed.Store(int64(fixed))
}

// zones returns what this node announces.
func (m *Member) zones() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.defined) == 0 {
		return nil
	}
	return m.defined[len(m.defined)-1].zones
}

func (m *Member) announceSoon() {
	select {
	case m.wake <- struct{}{}:
	default: // it will read what is there by then
	}
}

// Leave ends the membership, and Redis forgets this node at once if it can be reached. It waits for Redis as long as a request
// would.
func (m *Member) Leave() {
	m.stop()
	m.loop.Wait()
	m.withdraw(context.Background())
}

// run announces until ctx ends.
func (m *Member) run(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case now = <-ticker.C:
		case <-m.wake:
			now = time.Now()
			ticker.Reset(Interval)
		}
		m.announce(ctx, now)
	}
}
