package fault

import (
	"fmt"
	"strings"
	"testing"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A topology is the Redis of a fleet. Its keys are spread over shards: three in a cluster, one
// otherwise.
type topology struct {
	t       *testing.T
	mode    string // as in the configuration; "" if standalone
	option  string // a further line of the redis block
	addrs   []string
	servers []*redistest.Server
	proxies map[*redistest.Server]*redistest.Proxy // empty under Sentinel, which tells nodes the servers themselves

	cluster  *redistest.Cluster  // nil if there is none
	sentinel *redistest.Sentinel // nil if there is none
}

// users returns the options of servers that give each node a user of its own. Proxies and CLIENT LIST tell
// the nodes apart by it.
func users(nodes int) []string {
	var options []string
	for i := range nodes {
		options = append(options, fmt.Sprintf("user %s on >secret ~* &* +@all", user(i)))
	}
	return options
}

func user(node int) string { return fmt.Sprint("node", node) }

// newCluster starts a cluster behind proxies.
func newCluster(t *testing.T, nodes int) *topology {
	t.Helper()
	c := redistest.NewCluster(t, append(users(nodes), "cluster-require-full-coverage no")...)
	proxies := make(map[*redistest.Server]*redistest.Proxy)
	r := &topology{t: t, mode: "cluster", servers: c.Servers, proxies: proxies, cluster: c}
	for i, p := range c.Proxies() {
		proxies[c.Servers[i]] = p
	}
	r.addrs = c.Addrs
	return r
}

// newStandalone starts a server behind a proxy.
func newStandalone(t *testing.T, nodes int) *topology {
	t.Helper()
	s := redistest.NewServer(t, users(nodes)...)
	p := redistest.NewProxy(t, s.Addr)
	return &topology{
		t: t, addrs: []string{p.Addr}, servers: []*redistest.Server{s},
		proxies: map[*redistest.Server]*redistest.Proxy{s: p},
	}
}

// newSentinel starts a primary and its replica under Sentinels.
func newSentinel(t *testing.T, nodes int) *topology {
	t.Helper()
	s := redistest.NewSentinel(t, users(nodes)...)
	return &topology{
		t: t, mode: "sentinel", option: "master_name " + s.MasterName,
		addrs: s.Addrs, servers: []*redistest.Server{s.Primary, s.Replica}, sentinel: s,
	}
}

// block returns the redis block of a node, with more lines.
func (r *topology) block(node int, more string) string {
	return fmt.Sprintf("redis %s {\n\taddress %s\n\t%s\n\tusername %s\n\tpassword secret\n\t%s\n}",
		r.mode, strings.Join(r.addrs, " "), r.option, user(node), more)
}

func (r *topology) shards() int {
	if r.cluster != nil {
		return 3
	}
	return 1
}

// redisKey returns the name of a key in Redis.
func redisKey(key string) string { return "rl:{kt" + key + "}" }

// slots returns the slots of keys. Without a cluster, all slots are 0.
func (r *topology) slots(keys []string) []int {
	r.t.Helper()
	slots := make([]int, len(keys))
	if r.cluster == nil {
		return slots
	}
	cmds, err := r.servers[0].Client().Pipelined(r.t.Context(), func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.ClusterKeySlot(r.t.Context(), redisKey(key))
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for i, cmd := range cmds {
		slots[i] = int(cmd.(*redis.IntCmd).Val())
	}
	return slots
}

// shardOf returns the shard that has a slot when the cluster starts.
func shardOf(slot int) int { return slot * 3 / 16384 }

// primary returns the server to which calls about a key are sent. It waits until one answers.
func (r *topology) primary(key string) (found *redistest.Server) {
	r.t.Helper()
	switch {
	case r.cluster != nil:
		found = r.cluster.Primary(redisKey(key))
	case r.sentinel != nil:
		redistest.Eventually(r.t, "a primary", func() bool {
			sentinel := r.sentinel.Sentinels[0].Client()
			named, err := sentinel.Do(r.t.Context(), "sentinel", "get-master-addr-by-name", r.sentinel.MasterName).StringSlice()
			for _, s := range r.servers {
				if err == nil && s.Addr == strings.Join(named, ":") {
					found = s
				}
			}
			return found != nil && strings.Contains(found.Client().Info(r.t.Context(), "replication").Val(), "role:master")
		})
	default:
		found = r.servers[0]
	}
	return found
}

// replica returns the replica of a primary.
func (r *topology) replica(of *redistest.Server) *redistest.Server {
	r.t.Helper()
	if r.cluster != nil {
		return r.cluster.Replica(of)
	}
	return r.sentinel.Replica
}

// awaitHealthy waits until a replica can take over.
func (r *topology) awaitHealthy() {
	r.t.Helper()
	switch {
	case r.cluster != nil:
		r.cluster.AwaitHealthy()
	case r.sentinel != nil:
		r.sentinel.AwaitHealthy()
	}
}

// addr returns the address at which nodes reach a server.
func (r *topology) addr(s *redistest.Server) string {
	if p := r.proxies[s]; p != nil {
		return p.Addr
	}
	return s.Addr
}

// perNode returns the number of connections of a node: two to each primary, one to hear of recalls and, in a
// cluster, one to each server, to ask which servers are primaries.
func (r *topology) perNode() int {
	n := 2*r.shards() + 1
	if r.cluster != nil {
		n += len(r.servers)
	}
	return n
}

// connections returns the number of connections of the nodes of the fleet, without nodes that have joined.
func (r *topology) connections() (n int) {
	for _, s := range r.servers {
		list := s.Client().ClientList(r.t.Context()).Val()
		for node := range size {
			n += strings.Count(list, " user="+user(node)+" ")
		}
	}
	return n
}
