package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// A view is what one node knows about all nodes.
type view struct {
	// epoch orders the views: the one with the highest epoch wins. A failover raises the first number.
	// The second number is the epoch of the node's own promotion. So among the nodes that know of a
	// failover, the new primary wins.
	epoch     [2]int64
	primaries []slots
	nodes     []string // all that can be asked, replicas too
}

// slots is a range of slots and the address of its primary.
type slots struct {
	first, last int
	addr        string
}

// clusterEvery is the time between two loads of a cluster's slots while all is well. MOVED reports
// moved slots at once; the loads find nodes that came or went.
const clusterEvery = 10 * time.Second

// askNode asks a node of a cluster for the slots and their owners.
func askNode(l *link, addr string) (view, error) {
	ctx := context.Background()
	info := redis.NewStringCmd(ctx, "cluster", "info")
	owners := redis.NewClusterSlotsCmd(ctx, "cluster", "slots")
	if err := l.run([]redis.Cmder{info, owners}, nil); err != nil {
		return view{}, err
	}
	if err := errors.Join(info.Err(), owners.Err()); err != nil {
		return view{}, err
	}
	return clusterView(info.Val(), owners.Val(), addr)
}

// clusterView returns the view in CLUSTER INFO and CLUSTER SLOTS of the node at addr.
func clusterView(info string, owners []redis.ClusterSlot, addr string) (v view, err error) {
	for i, field := range []string{"cluster_current_epoch:", "cluster_my_epoch:"} {
		_, tail, _ := strings.Cut(info, field)
		digits, _, _ := strings.Cut(tail, "\r\n")
		if v.epoch[i], err = strconv.ParseInt(digits, 10, 64); err != nil {
			return view{}, fmt.Errorf("CLUSTER INFO has no %s", field)
		}
	}
	primaries, nodes := make(map[string]bool), make(map[string]bool)
	for _, s := range owners {
		if s.Start < 0 || s.Start > s.End || s.End >= slotCount {
			return view{}, fmt.Errorf("CLUSTER SLOTS has the range %d to %d, want one within 0 to %d", s.Start, s.End, slotCount-1)
		}
		for i, node := range s.Nodes {
			at := addressFrom(node.Addr, addr)
			if i == 0 { // the owner; the others are its replicas
				v.primaries = append(v.primaries, slots{s.Start, s.End, at})
				primaries[at] = true
			}
			if !nodes[at] && len(nodes) < maxPrimaries { // enough to ask, as each of them knows all slots
				nodes[at] = true
				v.nodes = append(v.nodes, at)
			}
		}
	}
	switch {
	case len(primaries) == 0:
		return view{}, errors.New("the node knows no slots: use a node that has joined the cluster")
	case len(primaries) > maxPrimaries:
		return view{}, fmt.Errorf("CLUSTER SLOTS names %d primaries: use at most %d", len(primaries), maxPrimaries)
	}
	return v, nil
}

// sentinelEvery is the time between two questions to the Sentinels while all is well. Only they tell of
// a failover: if just the Sentinels cannot reach the old primary, it still answers calls.
const sentinelEvery = 500 * time.Millisecond

// askSentinel returns a function that asks a Sentinel for the primary called name.
func askSentinel(name string) func(l *link, addr string) (view, error) {
	return func(l *link, addr string) (view, error) {
		ctx := context.Background()
		master := redis.NewStringSliceCmd(ctx, "sentinel", "get-master-addr-by-name", name)
		state := redis.NewMapStringStringCmd(ctx, "sentinel", "master", name)
		if err := l.run([]redis.Cmder{master, state}, nil); err != nil {
			return view{}, err
		}
		if errors.Is(master.Err(), redis.Nil) {
			return view{}, fmt.Errorf("the Sentinel watches no master called %q: use its name in SENTINEL MASTERS", name)
		}
		if err := errors.Join(master.Err(), state.Err()); err != nil {
			return view{}, err
		}
		return sentinelView(master.Val(), state.Val(), addr)
	}
}

// sentinelView returns the view in the replies of the Sentinel at addr.
func sentinelView(master []string, state map[string]string, addr string) (view, error) {
	if len(master) != 2 {
		return view{}, fmt.Errorf("the Sentinel names the master by %d words, not by a host and a port", len(master))
	}
	epoch, err := strconv.ParseInt(state["config-epoch"], 10, 64)
	if err != nil {
		return view{}, errors.New("SENTINEL MASTER has no config-epoch")
	}
	at := addressFrom(net.JoinHostPort(master[0], master[1]), addr)
	return view{epoch: [2]int64{epoch}, primaries: []slots{{0, slotCount - 1, at}}}, nil
}
