package fleetlimit

import (
	"net/http"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// getStatus answers GET /rate_limit/status.
func getStatus(w http.ResponseWriter, _ *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	now, v := time.Now(), running.watcher.Latest()
	answer := adminapi.Status{
		Status: readReadiness().Status, Store: running.store.name, Nodes: 1, Zones: len(running.schema.Zones()),
		Rules: adminapi.RulesStatus{
			Store: running.watcher.Store().Name(), Version: v.Number, Author: v.Author,
			Overrides: overrideEntries.count(v.Document, now), Tiers: tierEntries.count(v.Document, now),
			Access: accessEntries.count(v.Document, now), FailedPolls: running.watcher.FailedPolls(),
		},
		Emergency: newEmergencyAnswer(emergencyMode.active(now)),
	}
	if v.Number > 0 {
		answer.Rules.Time = &v.Time
	}
	if m := running.store.nodes; m != nil {
		answer.Nodes = m.Nodes()
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// getNodes answers GET /rate_limit/nodes. A node that counts in memory is alone.
func getNodes(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	m := running.store.nodes
	if m == nil {
		self := running.nodeName()
		writeJSON(w, http.StatusOK, adminapi.Nodes{Count: 1, Self: self, Nodes: []adminapi.Node{{Name: self}}})
		return nil
	}
	nodes, err := m.List(r.Context())
	if err != nil {
		return apiError(http.StatusServiceUnavailable, "Redis does not tell which nodes there are: %w: use "+
			"GET /rate_limit/health/ready to see why", err)
	}
	answer := adminapi.Nodes{Count: m.Nodes(), Self: m.Name(), Nodes: []adminapi.Node{}}
	for _, n := range nodes {
		answer.Nodes = append(answer.Nodes, adminapi.Node{Name: n.Name, SeenAgo: n.Seen.String()})
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// getZones answers GET /rate_limit/zones.
func getZones(w http.ResponseWriter, _ *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	zones := []adminapi.Zone{}
	for _, name := range running.schema.Zones() {
		zones = append(zones, running.describe(running.schema.zone(name)))
	}
	writeJSON(w, http.StatusOK, adminapi.Zones{Zones: zones})
	return nil
}

// getZone answers GET /rate_limit/zones/{zone}.
func getZone(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	z, err := running.zoneOf(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, running.describe(z))
	return nil
}

func (a *runningApp) describe(z *zone) adminapi.Zone {
	i := inspector{running: a, zone: z, config: a.definition(z.name)}
	answer := adminapi.Zone{Name: z.name, Key: i.config.Key, Limits: []adminapi.EndpointLimits{}}
	inForce := a.inForce.of(z)
	for place := range inForce.endpoints {
		e := &inForce.endpoints[place]
		described := adminapi.EndpointLimits{Endpoint: e.name(), Tiers: []adminapi.TierLimit{}}
		for number, r := range e.rules {
			if r == nil {
				continue
			}
			tier := ""
			if number != noTier {
				tier = z.tiers.names[number]
			}
			described.Tiers = append(described.Tiers, adminapi.TierLimit{
				Tier: tier, Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm), From: i.origins(e, place, tier),
				Compared: inForce.compared.describe(place, number),
			})
		}
		if len(described.Tiers) > 0 {
			answer.Limits = append(answer.Limits, described)
		}
	}
	if share := i.config.DryRun; share > 0 {
		answer.DryRun = config.FormatPercent(float64(share))
	}
	if inForce.compared != nil {
		answer.Compare = config.FormatPercent(inForce.compared.fraction)
	}
	if changes := a.inForce.version.Document.Zones[z.name]; changes != nil && changes.DryRun != "" {
		answer.DryRun = changes.DryRun
	}
	return answer
}

// describe returns the rule at a place of the zone for a tier, or nil if there is none.
func (c *comparedRules) describe(place, tier int) *adminapi.ComparedLimit {
	if c == nil || c.endpoints[place].rules[tier] == nil {
		return nil
	}
	r := c.endpoints[place].rules[tier]
	return &adminapi.ComparedLimit{Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm)}
}

// algorithmText returns an algorithm as parseAlgorithm reads it.
func algorithmText(a limiter.Algorithm) string {
	if a.SubWindows > 1 {
		return a.Kind.String() + " " + strconv.Itoa(a.SubWindows)
	}
	return a.Kind.String()
}
