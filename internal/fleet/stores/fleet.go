package stores

import (
	"context"
	"os"
	"sync"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A node is this node as a member of the fleet that shares a store. It outlives configurations.
type node struct {
	*membership.Member
	kept  *keptSize
	end   context.CancelFunc // ends kept.run
	ended sync.WaitGroup
}

// join joins the fleet whose nodes count in the Redis of client. The node announces nothing until
// Announce is called.
func join(client *redisconn.Client, target *Target, observer Observer) *node {
	name, n := target.name, new(node)
	n.Member = membership.Join(client, target.prefix, func(m membership.Mismatch) { observer.Mismatch(name, m) })
	n.kept = newKeptSize(name, target.prefix, n.Known, func(err error) { observer.NodesNotKept(name, err) })
	ctx, end := context.WithCancel(context.Background())
	n.end = end
	n.ended.Go(func() { n.kept.run(ctx) })
	return n
}

func (n *node) leave() {
	n.end()
	n.ended.Wait()
	n.Leave()
}

// Announce tells the other nodes of the fleet which zones owner has, until Withdraw is called for
// owner. It calls zones only if the store is in Redis. fixed is the number of nodes; if it is 0, nodes
// are counted. The number is kept in storage. top returns what other nodes get if they ask for the top
// keys of a zone.
func (s *Store) Announce(
	owner any, zones func() map[string]membership.Definition, fixed int, storage Storage, top func(zone string) []byte,
) {
	if s.redis != nil {
		s.redis.node.Define(owner, zones(), fixed, top)
		s.redis.node.kept.use(storage)
	}
}

// Withdraw withdraws the zones of owner.
func (s *Store) Withdraw(owner any) {
	if s.redis != nil {
		s.redis.node.Undefine(owner)
	}
}

// Node returns the name of this node.
func (s *Store) Node() string {
	if s.redis != nil {
		return s.redis.node.Name()
	}
	self, _ := os.Hostname() // without an error, as an unknown name is allowed
	return self
}

// Nodes returns the number of nodes that share limits. It is 1 if the counts are in memory.
func (s *Store) Nodes() int {
	if s.redis != nil {
		return s.redis.node.Nodes()
	}
	return 1
}

// ListNodes returns the nodes that share limits. It returns an error if the store does not answer.
func (s *Store) ListNodes(ctx context.Context) ([]membership.Node, error) {
	if s.redis != nil {
		return s.redis.node.List(ctx)
	}
	return []membership.Node{{Name: s.Node()}}, nil
}

// Tops returns the top keys of a zone on other nodes, and the number of nodes. It returns an error if
// the store does not answer.
func (s *Store) Tops(ctx context.Context, zone string) (tops [][]byte, nodes int, err error) {
	if s.redis != nil {
		return s.redis.node.Tops(ctx, zone)
	}
	return nil, 1, nil
}

// Mismatches returns the zones that other nodes define differently.
func (s *Store) Mismatches() []membership.Mismatch {
	if s.redis != nil {
		return s.redis.node.Mismatches()
	}
	return nil
}
