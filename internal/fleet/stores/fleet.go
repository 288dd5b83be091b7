package stores

import (
	"context"
	"os"
	"sync"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A node is this node in the fleet that shares a store. It outlives configurations.
type node struct {
	*membership.Member
	kept  *keptSize
	end   context.CancelFunc // of kept
	ended sync.WaitGroup
}

// join joins the fleet that counts in a Redis. The node announces nothing before it is told what
// its zones are.
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

// Announce tells the other nodes of the fleet what zones owner has, until it withdraws them. It calls
// zones if there can be other nodes. fixed is how many there are; with 0 they are counted. That number
// is kept in storage. top returns what they get when they ask for the top keys of a zone.
func (s *Store) Announce(
	owner any, zones func() map[string]membership.Definition, fixed int, storage Storage, top func(zone string) []byte,
) {
	if s.redis != nil {
		s.redis.node.Define(owner, zones(), fixed, top)
		s.redis.node.kept.use(storage)
	}
}

// Withdraw ends what Announce has begun.
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
	self, _ := os.Hostname() // no name is no error here
	return self
}

// Nodes returns by how many nodes limits are shared. A node that counts in memory is alone.
func (s *Store) Nodes() int {
	if s.redis != nil {
		return s.redis.node.Nodes()
	}
	return 1
}

// ListNodes returns the nodes that share limits. Its error is that the store does not answer.
func (s *Store) ListNodes(ctx context.Context) ([]membership.Node, error) {
	if s.redis != nil {
		return s.redis.node.List(ctx)
	}
	return []membership.Node{{Name: s.Node()}}, nil
}

// Tops returns what other nodes tell of their top keys of a zone, and how many nodes there are. Its
// error is that the store does not answer.
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
