package live

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// A sampler makes snapshots of a process. It remembers the counters of the last snapshot.
type sampler struct {
	process *adminapi.Process
	counts  map[string]count
	at      time.Time // zero if there is no snapshot yet
}

// snapshot returns the snapshot at now.
func (s *sampler) snapshot(now time.Time) *Snapshot {
	snapshot := &Snapshot{Time: now.UnixMilli(), Zones: []ZoneRates{}}
	counts := make(map[string]count)
	for _, z := range usage.All() {
		c := read(z)
		counts[z.Name] = c
		if s.at.IsZero() {
			continue
		}
		earlier := s.counts[z.Name]
		snapshot.Zones = append(snapshot.Zones, ZoneRates{z.Name, z.Waits.Waiting(), c.ratesSince(&earlier, now.Sub(s.at))})
	}
	slices.SortFunc(snapshot.Zones, func(a, b ZoneRates) int { return cmp.Compare(a.Zone, b.Zone) })
	s.counts, s.at = counts, now
	status, err := adminapi.StatusOf(s.process)
	if err != nil {
		snapshot.Error = err.Error()
	}
	snapshot.Status = status
	return snapshot
}

// fleet returns the nodes that share the counts.
func (s *sampler) fleet() *Fleet {
	c := s.process.Running()
	if c == nil {
		return &Fleet{Nodes: &api.Nodes{Nodes: []api.Node{}}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), fleetPatience)
	defer cancel()
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return &Fleet{Error: err.Error()}
	}
	return &Fleet{Nodes: nodes}
}

// top returns the keys that use a zone most, or nil if there is no such zone.
func (s *sampler) top(zone string) *api.Top {
	c := s.process.Running()
	if c == nil || !slices.Contains(c.Schema().Zones(), zone) {
		return nil
	}
	top, _ := c.Top(context.Background(), zone, &api.TopQuery{By: api.ByDemand, Most: maxTop}) // of this node: it never fails
	return top
}
