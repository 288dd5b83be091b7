package adminapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// getTop answers GET /rate_limit/zones/{zone}/top.
func getTop(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	query := r.URL.Query()
	zone, err := zoneOf(c, r, query.Get("endpoint"))
	if err != nil {
		return nil, err
	}
	most, err := queryInt(r, "limit", api.DefaultTop, 1)
	if err != nil {
		return nil, err
	}
	if most > api.MaxTop {
		return nil, apiError(http.StatusBadRequest, "limit is %d: use 1 to %d", most, api.MaxTop)
	}
	q := &api.TopQuery{Endpoint: query.Get("endpoint"), By: cmp.Or(query.Get("by"), api.ByDemand), Most: int(most)}
	if !slices.Contains(api.TopOrders, q.By) {
		return nil, apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("by", q.By, api.TopOrders, nil))
	}
	if q.Fleet, err = queryBool(r, "fleet"); err != nil {
		return nil, err
	}
	top, err := topOf(r.Context(), c, zone, q)
	if err != nil {
		return nil, apiError(http.StatusServiceUnavailable, "Redis does not tell what other nodes list: %w: use this without fleet, or "+
			"GET /rate_limit/health/ready to see why", err)
	}
	return top, nil
}

// A question for the top keys of the fleet is repeated until all nodes have answered, but not for
// longer than topPatience: nodes see the question at their next heartbeat, and have one every 5 s.
const (
	topPatience   = 7 * time.Second
	topAgainAfter = 250 * time.Millisecond
)

// topsOfOthers returns the lists that other nodes have of a zone. It leaves out lists in the
// encoding of another version of this module. nodes is the number of all nodes.
func (c *Running) topsOfOthers(ctx context.Context, zone string) (views []topkeys.View, nodes int, err error) {
	tops, nodes, err := c.Store.Tops(ctx, zone)
	for _, top := range tops {
		if view, err := topkeys.Decode(top); err == nil {
			views = append(views, view)
		}
	}
	return views, nodes, err
}

// Top returns the keys that use a zone most, by the lists of the nodes that have answered already.
// It returns an error if the store does not answer.
func (c *Running) Top(ctx context.Context, zone string, q *api.TopQuery) (*api.Top, error) {
	view, fleet := usage.TopOf(zone), (*api.TopFleet)(nil)
	if q.Fleet {
		views, nodes, err := c.topsOfOthers(ctx, zone)
		if err != nil {
			return nil, err
		}
		views = append([]topkeys.View{view}, views...)
		view, fleet = topkeys.MergeViews(views), &api.TopFleet{Nodes: nodes, Answered: len(views)}
	}
	top := inspect.Top(c.Snapshot, zone, q, &view)
	top.Node, top.Fleet = c.Store.Node(), fleet
	return top, nil
}

// topOf returns the keys that use a zone most. If q is about the fleet, it waits for the other
// nodes.
func topOf(ctx context.Context, c *Running, zone string, q *api.TopQuery) (*api.Top, error) {
	ctx, cancel := context.WithTimeout(ctx, topPatience)
	defer cancel()
	for {
		top, err := c.Top(ctx, zone, q)
		if err != nil || top.Fleet == nil || top.Fleet.Answered >= top.Fleet.Nodes {
			return top, err
		}
		select {
		case <-ctx.Done():
			return top, nil
		case <-time.After(topAgainAfter):
		}
	}
}
