package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A fleet is nodes that share a Redis Cluster. Each node has its own accounts and connections, as it
// has in a process of its own.
type fleet struct {
	nodes    []*node
	requests requestCounts
}

// A node is the part of a gateway that decides takes.
type node struct {
	client *redisconn.Client
	store  *lease.Store
	zone   *lease.Accounts
	rules  sync.Map // by *limiter.Rule: a copy of the rule in the zone

	recalls     sync.WaitGroup // ends after stopRecalls
	stopRecalls context.CancelFunc
}

// newFleet returns a fleet on c. Each node is connected to each primary, and subscribes to recalls at
// one of them. The keys of fleets of different sizes do not collide.
func newFleet(c *cluster, nodes, trials int) (*fleet, error) {
	f := &fleet{requests: make(requestCounts, trials+1)}
	for range nodes {
		f.nodes = append(f.nodes, newNode(c, nodes, f.requests))
	}
	if err := f.connect(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// newNode returns a node of a fleet on c. nodes is how many nodes the fleet has.
func newNode(c *cluster, nodes int, requests requestCounts) *node {
	client := redisconn.New(redisconn.Options{Mode: redisconn.Cluster, Addresses: c.Addrs, Timeout: timeout})
	counts := redisstore.New(client, fmt.Sprint("rl", nodes))
	n := &node{client: client}
	n.store = lease.New(&countedLender{counts, requests}, lease.Options{Nodes: func() int { return nodes }, Timeout: timeout})
	n.zone = n.store.Open("bench")
	ctx, stop := context.WithCancel(context.Background())
	n.stopRecalls = stop
	n.recalls.Go(func() { counts.Recalls(ctx, n.store.Recall) })
	return n
}

// connect connects all nodes at the same time.
func (f *fleet) connect() error {
	var nodes errgroup.Group
	for _, n := range f.nodes {
		nodes.Go(n.connect)
	}
	return nodes.Wait()
}

// ruleIn returns the copy of r in the zone of the node, which is made only once.
func (n *node) ruleIn(r *limiter.Rule) *limiter.Rule {
	here, found := n.rules.Load(r)
	if !found {
		rule := *r
		rule.Zone = n.zone
		here, _ = n.rules.LoadOrStore(r, &rule)
	}
	return here.(*limiter.Rule)
}

// connect takes from keys on all primaries, and repeats each take until it succeeds.
func (n *node) connect() error {
	rule, err := strict.rule(0, limiter.Limit{Events: unlimited, Window: time.Minute})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for key := range 32 {
		k := []limiter.Take{{Rule: n.ruleIn(rule), Key: fmt.Appendf(nil, "first %d", key), Cost: 1}}
		for err := n.store.Take(context.Background(), n.store.Now(), k); err != nil; {
			if time.Now().After(deadline) {
				return fmt.Errorf("connecting a node to the cluster: %w", err)
			}
			err = n.store.Take(context.Background(), n.store.Now(), k)
		}
	}
	return nil
}

// close closes the nodes.
func (f *fleet) close() {
	for _, n := range f.nodes {
		n.stopRecalls()
		n.recalls.Wait()
		n.store.Close()
		n.client.Close()
	}
}

// requestCounts counts the requests to the store by rule ID. Rule 0 is for the takes of connect.
type requestCounts []atomic.Int64

// read returns the counts.
func (t requestCounts) read() []int64 {
	counts := make([]int64, len(t))
	for i := range t {
		counts[i] = t[i].Load()
	}
	return counts
}

// A countedLender is a store that counts the requests to it.
type countedLender struct {
	*redisstore.Store
	counts requestCounts
}

func (l *countedLender) Lend(requests []limiter.LeaseRequest, written func(), answered func(error)) {
	l.counts[requests[0].Rule.ID].Add(1)
	l.Store.Lend(requests, written, answered)
}

func (l *countedLender) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	l.counts[takes[0].Rule.ID].Add(1)
	return l.Store.Take(ctx, now, takes)
}
