package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const (
	size  = 3  // nodes
	limit = 24 // of the path tight, in events

	timeout    = 50 * time.Millisecond // the default of a redis block
	probeEvery = 200 * time.Millisecond
)

// A fleet is nodes on a Redis, under load.
type fleet struct {
	t     *testing.T
	redis *topology
	settings
	nodes   []*nodetest.Node
	load    *load
	faults  int // that were injected
	reloads int
}

// settings are more lines for the blocks of all nodes. Tests plant mistakes by them.
type settings struct {
	redis   string
	breaker string
	tight   string // of the zone tight
}

// plain are the settings of fleets in which no mistake is planted.
var plain settings

func (s settings) String() string { return s.redis + s.breaker + s.tight }

// options returns the content of the rate_limit global option.
func (f *fleet) options(node int) string {
	nodes := fmt.Sprint("nodes ", size)
	if *matrix {
		nodes = "" // nodes find each other, which takes some seconds
	}
	return fmt.Sprintf("%s\nbreaker {\n\tprobe_every %v\n\t%s\n}\n%s",
		f.redis.block(node, f.settings.redis), probeEvery, f.settings.breaker, nodes)
}

// site returns the site that all nodes have.
func (s *settings) site() string {
	const zone = "\trate_limit /%[1]s {\n\t\tzone %[1]s {\n\t\t\tkey {header.X-Api-Key}\n" +
		"\t\t\tlimit %[2]d/24h\n%[3]s\n\t\t}\n\t}\n"
	const ample = 1_000_000
	return fmt.Sprintf(zone, "strict", ample, "mode strict") + fmt.Sprintf(zone, "leased", ample, "") +
		fmt.Sprintf(zone, "tight", limit, s.tight)
}

// newFleet starts a fleet.
func newFleet(t *testing.T, redis *topology, s settings) *fleet {
	t.Helper()
	f := &fleet{t: t, redis: redis, settings: s}
	for i := range size {
		f.nodes = append(f.nodes, f.start(i))
	}
	f.load = &load{nodes: f.nodes, keys: make([][]string, redis.shards())}
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprint("key", i)
	}
	for i, slot := range redis.slots(names) {
		shard := shardOf(slot)
		f.load.keys[shard] = append(f.load.keys[shard], names[i])
	}
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	f.load.start(ctx, &workers)
	t.Cleanup(func() {
		cancel()
		f.load.resume()
		workers.Wait()
	})
	for i, n := range f.nodes {
		n.Await("the size of the fleet", func() bool {
			return n.Metric(fmt.Sprintf("caddy_rate_limit_nodes{store=%q}", f.store())) == size && f.decides(i)
		})
	}
	f.load.resume()
	wait(10 * pace) // until all connections are open, and a little longer
	f.load.pause()
	return f
}

// store returns the name of the store in metrics.
func (f *fleet) store() string {
	mode := f.redis.mode
	if mode == "" {
		mode = "standalone"
	}
	return "redis " + mode + " " + strings.Join(f.redis.addrs, " ")
}

// start starts a node.
func (f *fleet) start(node int) *nodetest.Node {
	f.t.Helper()
	return nodetest.Start(f.t, f.options(node), f.site())
}

// reload loads a configuration with another header on all nodes.
func (f *fleet) reload() {
	f.t.Helper()
	f.reloads++
	for i, n := range f.nodes {
		n.Reload(f.options(i), f.site()+fmt.Sprintf("\theader Reloads %d\n", f.reloads))
	}
}

// decides reports whether Redis decides the requests of a node, on all shards.
func (f *fleet) decides(node int) bool {
	for shard, keys := range f.load.keys {
		if s := f.load.request(node, strict, keys[0], shard); s.status != 200 || s.degraded {
			return false
		}
	}
	return true
}

// healthy reports whether nothing of a fault is left that requests could notice: Redis decides, and
// all debts are settled.
func (f *fleet) healthy() bool {
	f.t.Helper()
	for i, n := range f.nodes {
		owed := n.Metric(fmt.Sprintf("caddy_rate_limit_outage_debt_events{store=%q}", f.store()))
		if owed > 0 || !f.decides(i) {
			return false
		}
	}
	return true
}

// left returns what all nodes have open. It waits first until they have all connections that they need.
func (f *fleet) left() (r resources) {
	f.t.Helper()
	redistest.Eventually(f.t, "all connections", func() bool {
		r.connections = f.redis.connections()
		return r.connections >= size*f.redis.perNode()
	})
	for _, node := range f.nodes {
		node.Client.CloseIdleConnections() // so that the load leaves none open
		r.goroutines += int(node.Metric("go_goroutines"))
	}
	return r
}

// A transition is a state that a breaker of a node has got.
type transition struct {
	node    int
	at      time.Time
	primary string
	state   string
	reason  string // why it is open
}

// transitions returns what the nodes have logged about their breakers since an instant.
func (f *fleet) transitions(since time.Time) (all []transition) {
	f.t.Helper()
	for i, n := range f.nodes {
		for line := range strings.Lines(n.Logged()) {
			var entry struct {
				TS             float64
				State, Primary string
				Error          string
			}
			if json.Unmarshal([]byte(line), &entry) != nil || entry.State == "" || entry.Primary == "" {
				continue
			}
			at := time.UnixMicro(int64(entry.TS * 1e6))
			if at.After(since) {
				all = append(all, transition{i, at, entry.Primary, entry.State, entry.Error})
			}
		}
	}
	slices.SortFunc(all, func(a, b transition) int { return a.at.Compare(b.at) })
	return all
}

// names returns names of keys for the path tight that hash to a shard.
func (f *fleet) names(shard int, prefixes ...string) []string {
	f.t.Helper()
	names := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		for n := 0; names[i] == ""; n++ {
			name := fmt.Sprintf("%s-%d-%d", prefix, f.faults, n)
			if shardOf(f.redis.slots([]string{name})[0]) == shard {
				names[i] = name
			}
		}
	}
	return names
}
