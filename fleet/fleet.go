// Package fleet lets the nodes that share counts in Redis know of each other. A node announces every few seconds how it
// defines its zones, and hears which others define them differently: counts of one name that mean different things would
// be mixed, or kept apart, without anybody noticing.
package fleet

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/transport"
)

const (
	// Interval is the time between two announcements of a node.
	Interval = 5 * time.Second

	// Silence is how long a node is believed to be alive after its last announcement.
	Silence = 3 * Interval
)

var announceScript = redis.NewScript(lua.Announce())

// A Difference is a zone that another node defines otherwise than this one.
type Difference struct {
	Zone string
	Node string // the other one
}

// A Member is the part that this node takes in the fleet. Use [Join].
type Member struct {
	client *transport.Client
	key    string
	name   string
	report func(Difference)

	mu      sync.Mutex
	defined []definitions // by owner; the last ones are announced

	// Of the loop:
	said  string // in the last announcement
	heard sighting

	wake chan struct{} // says that defined was changed
	stop context.CancelFunc
	loop sync.WaitGroup
}

// definitions are the zones of one owner: by name, a text that two nodes have in common when they define a zone alike.
type definitions struct {
	owner any
	zones map[string]string
}

// Join returns a member of the fleet that shares prefix, and starts announcing as soon as there is something to announce.
// report is called for each difference that has been heard of in two announcements, once for as long as it lasts and the
// definitions of this node do not change; never by two goroutines at a time. Leave ends the membership.
func Join(client *transport.Client, prefix string, report func(Difference)) *Member {
	ctx, stop := context.WithCancel(context.Background())
	m := &Member{
		client: client,
		key:    prefix + ":{}:nodes", // the key of no client's count, which has something between the braces
		name:   nodeName(),
		report: report,
		wake:   make(chan struct{}, 1),
		stop:   stop,
	}
	m.loop.Go(func() { m.run(ctx) })
	return m
}

// nodeName returns a name that tells an operator which host it is, and this process from all others.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:6])
}

// Define announces zones for owner, in place of what was defined before; Undefine takes that back.
func (m *Member) Define(owner any, zones map[string]string) {
	m.mu.Lock()
	m.defined = append(m.defined, definitions{owner, maps.Clone(zones)})
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
	m.mu.Unlock()
	m.announceSoon()
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

// Leave ends the membership; the others hear of it at once if Redis can be reached. It waits for Redis as long as a request
// would.
func (m *Member) Leave() {
	m.stop()
	m.loop.Wait()
	m.client.Do(context.Background(), m.call(""))
}

// run announces until ctx ends.
func (m *Member) run(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-m.wake:
		}
		m.announce(ctx)
	}
}

// announce says how zones are defined here, and reports who defines them otherwise. Without Redis nothing is heard: the
// next announcement will do.
func (m *Member) announce(ctx context.Context) {
	zones := m.zones()
	if zones == nil {
		return
	}
	mine := digests(zones)
	says := encode(mine)
	if says != m.said {
		m.said, m.heard = says, nil
	}
	c := m.call(says)
	if m.client.Do(ctx, c); c.Err != nil {
		return
	}
	replies, _ := c.Reply.([]any)
	var news []Difference
	m.heard, news = m.heard.hear(mine, replies)
	for _, d := range news {
		m.report(d)
	}
}

// call returns the call of announce.lua.
func (m *Member) call(says string) *transport.Call {
	return &transport.Call{
		Script: announceScript, Keys: []string{m.key}, Args: []any{"", m.name, says, Silence.Microseconds()},
	}
}
