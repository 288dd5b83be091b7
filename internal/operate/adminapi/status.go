package adminapi

import (
	"context"
	"net/http"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// StatusOf returns the status of a process. It returns an error if no configuration is running that
// limits something.
func StatusOf(p *Process) (*api.Status, error) {
	c, err := runningOf(p)
	if err != nil {
		return nil, err
	}
	now, v, failing := time.Now(), c.Watcher.Latest(), c.Watcher.Failing()
	status := &api.Status{
		Readiness: p.Readiness(), Mismatches: c.mismatches(), UntrustedProxy: c.UntrustedProxy, Store: c.Store.Name(), Nodes: c.Store.Nodes(), Zones: len(c.Schema().Zones()),
		Rules: api.RulesStatus{
			Store: c.Watcher.Store().Name(), Version: v.Number, Author: v.Author,
			Overrides: overrideEntries.count(v.Document, now), Tiers: tierEntries.count(v.Document, now),
			Access: accessEntries.count(v.Document, now), FailedPolls: failing.Polls,
		},
		Emergency: p.Emergency.Describe(),
	}
	if failing.Err != nil {
		status.Rules.Error = failing.Err.Error()
	}
	if v.Number > 0 {
		status.Rules.Time = &v.Time
	}
	return status, nil
}

// getStatus answers GET /rate_limit/status.
func getStatus(p *Process, _ http.ResponseWriter, _ *http.Request) (any, error) { return StatusOf(p) }

// mismatches returns the zones that other nodes define differently.
func (c *Running) mismatches() (all []api.Mismatch) {
	for _, m := range c.Store.Mismatches() {
		all = append(all, api.Mismatch{Zone: m.Zone, Node: m.Node, Settings: m.Settings, Nodes: m.Nodes})
	}
	return all
}

// Nodes lists the nodes. It returns an error if the store does not answer.
func (c *Running) Nodes(ctx context.Context) (*api.Nodes, error) {
	nodes, err := c.Store.ListNodes(ctx)
	if err != nil {
		return nil, err
	}
	answer := &api.Nodes{Count: c.Store.Nodes(), Self: c.Store.Node(), Nodes: []api.Node{}}
	for _, n := range nodes {
		node := api.Node{Name: n.Name}
		if c.Store.Leases() != nil {
			node.SeenAgo = n.Seen.String()
		}
		answer.Nodes = append(answer.Nodes, node)
	}
	return answer, nil
}

// getNodes answers GET /rate_limit/nodes.
func getNodes(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	nodes, err := c.Nodes(r.Context())
	if err != nil {
		return nil, apiError(http.StatusServiceUnavailable, "Redis does not tell which nodes there are: %w: use "+
			"GET /rate_limit/health/ready to see why", err)
	}
	return nodes, nil
}
