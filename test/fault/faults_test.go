package fault

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A fault is something that happens to a Redis, and how it may be noticed. All other bounds hold for all
// faults: see result.violations.
type fault struct {
	name   string
	inject func(*scene)  // injects the fault and sets scene.undo
	lasts  time.Duration // until undo, unless the fault promotes a replica

	promotes   bool // a replica takes over, which ends the fault; undo comes later
	everywhere bool // all shards are affected
	oneNode    bool // only node 0 notices
	opens      bool // breakers open
	suspends   bool // node 0 answers nothing while it lasts
	mayOpen    bool // breakers may open, or open late, because the primary still answers or is back soon
	degrades   bool // requests are decided without Redis
	most       int  // events of a key that the fleet admits without Redis, besides nodes that join
	joins      int  // nodes that join while the fault lasts
}

// local returns the most events of a key that all nodes together admit without Redis. A node that joins has
// the share of one in 200 nodes, but at least one event, unless the number of nodes is configured.
func (f *fault) local() int {
	share := max(1, limit/200)
	if !*matrix {
		share = limit / size // as the number of nodes is configured
	}
	return f.most + f.joins*share
}

// lasting is how long faults last: long enough for breakers to open, and for clients to use up what is
// admitted meanwhile.
const lasting = time.Second

// outage is the most events that on_outage local admits of a key, over all nodes. It includes neither
// what the limit gets back meanwhile, nor leases, which Redis has debited.
const outage = limit

var killed = &fault{
	name: "a primary is killed (-9)", promotes: true, opens: true, degrades: true, most: outage,
	inject: func(s *scene) {
		s.primary.Kill()
		s.undo = s.primary.Restart
	},
}

var hangs = &fault{
	name: "a primary hangs and goes on", lasts: lasting, opens: true, degrades: true, most: outage,
	inject: func(s *scene) {
		s.primary.Pause()
		s.undo = s.primary.Resume
	},
}

var hangsUntilPromoted = &fault{
	name: "a primary hangs until a replica takes over", promotes: true, opens: true, degrades: true, most: outage,
	inject: hangs.inject,
}

var gone = &fault{
	name: "the server is killed (-9) and started again", lasts: lasting, everywhere: true, opens: true, degrades: true,
	most: outage, inject: allGone.inject,
}

var allGone = &fault{
	name: "all primaries are gone", lasts: lasting, everywhere: true, opens: true, degrades: true, most: outage,
	inject: func(s *scene) {
		primaries := s.primaries()
		for _, p := range primaries {
			p.Kill()
		}
		s.undo = func() {
			for _, p := range primaries {
				p.Restart()
			}
		}
	},
}

var cutFromOneNode = &fault{
	name: "the network between a node and a primary is cut", lasts: lasting, oneNode: true, opens: true, degrades: true,
	most: outage / size,
	inject: func(s *scene) {
		s.proxy().Cut(user(0))
		s.undo = s.proxy().Mend
	},
}

func slow(by time.Duration, f fault) *fault {
	f.name = fmt.Sprintf("a primary is slow by %v", by)
	f.lasts = lasting
	f.inject = func(s *scene) {
		s.proxy().Delay(by)
		s.undo = func() { s.proxy().Delay(0) }
	}
	return &f
}

var (
	slowBy20  = slow(20*time.Millisecond, fault{})
	slowBy60  = slow(60*time.Millisecond, fault{mayOpen: true, degrades: true, most: outage})
	slowBy500 = slow(500*time.Millisecond, fault{opens: true, degrades: true, most: outage})
)

var restarted = &fault{
	name: "a primary restarts with empty memory", lasts: 300 * time.Millisecond,
	mayOpen: true, degrades: true, most: outage,
	inject: func(s *scene) {
		s.primary.Restart()
		s.undo = func() {}
	},
}

var scriptsFlushed = &fault{
	name: "SCRIPT FLUSH", lasts: 600 * time.Millisecond,
	inject: func(s *scene) {
		for _, server := range s.redis.servers {
			server.Client().ScriptFlush(s.t.Context())
		}
		s.undo = func() {}
	},
}

var outOfMemory = &fault{
	name: "maxmemory is reached, noeviction", lasts: lasting, degrades: true, most: outage,
	inject: func(s *scene) {
		s.config("maxmemory", "1")
		s.undo = func() { s.config("maxmemory", "0") }
	},
}

var outOfClients = &fault{
	name: "maxclients is reached", lasts: lasting, opens: true, degrades: true, most: outage,
	inject: func(s *scene) {
		conn := s.primary.Client().Conn()
		do := func(args ...any) {
			if err := conn.Do(s.t.Context(), args...).Err(); err != nil {
				s.t.Error(err)
			}
		}
		do("config", "set", "maxclients", "1")
		for n := range s.nodes {
			do("client", "kill", "user", user(n))
		}
		s.undo = func() {
			do("config", "set", "maxclients", "10000")
			_ = conn.Close()
		}
	},
}

// The old primary answers nothing until the replica has all of its data and the votes of the other primaries.
var promotedByHand = &fault{
	name: "a replica is promoted by hand", promotes: true, mayOpen: true, degrades: true, most: outage,
	inject: func(s *scene) {
		var err error
		if s.redis.cluster != nil {
			err = s.replica.Client().ClusterFailover(s.t.Context()).Err()
		} else {
			set := s.redis.sentinel
			err = set.Sentinels[0].Client().Do(s.t.Context(), "sentinel", "failover", set.MasterName).Err()
		}
		if err != nil {
			s.t.Error(err)
		}
	},
}

var slotsMove = &fault{
	name: "slots move to another primary",
	inject: func(s *scene) {
		slots := s.redis.slots(append([]string{s.fresh, s.half, s.used}, s.load.keys[0][:60]...))
		c, to := s.redis.cluster, s.redis.primary(s.load.keys[1][0])
		move := func(from, to *redistest.Server) {
			done := make(map[int]bool)
			for _, slot := range slots {
				if !done[slot] {
					c.MoveSlot(slot, from, to, func() {})
				}
				done[slot] = true
			}
		}
		move(s.primary, to)
		s.undo = func() { move(to, s.primary) }
	},
}

const joining = 20 // nodes

// A suspended node spends none of the leases that it had before.
var nodeSuspended = &fault{
	name: "a node is suspended and goes on", lasts: lasting, suspends: true,
	inject: func(s *scene) {
		s.nodes[0].Pause()
		s.undo = s.nodes[0].Resume
	},
}

var (
	nodeJoins = join(1, "a node starts while Redis is down")
	nodesJoin = join(joining, "20 nodes join during an outage")
)

// join returns the fault that all primaries are gone while more nodes start. They do not know how
// many nodes there are, unless that is configured, and assume 200.
func join(nodes int, name string) *fault {
	f := *allGone
	f.name = name
	f.joins = nodes
	f.inject = func(s *scene) {
		allGone.inject(s)
		for i := range nodes {
			started := s.start(size + i)
			// A start waits up to half a second for the rules, and requests that come meanwhile wait, too.
			_, _, _ = started.Get(string(strict), "X-Api-Key: first")
			n := s.load.add(started)
			s.joined = append(s.joined, n)
			for range 5 {
				s.load.request(n, tight, s.fresh, 0)
				s.load.request(n, strict, s.load.keys[0][0], 0)
			}
		}
	}
	return &f
}

// primaries returns the primaries of all shards.
func (s *scene) primaries() (all []*redistest.Server) {
	for _, keys := range s.load.keys {
		all = append(all, s.redis.primary(keys[0]))
	}
	return all
}

func (s *scene) proxy() *redistest.Proxy { return s.redis.proxies[s.primary] }

// config sets a parameter of the primary.
func (s *scene) config(name, value string) {
	if err := s.primary.Client().ConfigSet(s.t.Context(), name, value).Err(); err != nil {
		s.t.Errorf("config set %s: %v", strings.Join([]string{name, value}, " "), err)
	}
}
