package fleetlimit

import (
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A statusAnswer is what an operator wants to know first.
type statusAnswer struct {
	Status    healthStatus    `json:"status"`
	Store     string          `json:"store"` // of the counts
	Nodes     int             `json:"nodes"`
	Zones     int             `json:"zones"`
	Rules     rulesStatus     `json:"rules"`
	Emergency emergencyAnswer `json:"emergency"`
}

// A rulesStatus is what this node knows of the rules.
type rulesStatus struct {
	Store       string     `json:"store"`
	Version     int64      `json:"version"`
	Time        *time.Time `json:"time,omitempty"`
	Author      string     `json:"author,omitempty"`
	Overrides   int        `json:"overrides"`
	Tiers       int        `json:"tiers"`
	Access      int        `json:"access"`
	FailedPolls int64      `json:"failed_polls"`
}

// getStatus answers GET /rate_limit/status.
func getStatus(w http.ResponseWriter, _ *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	now, v := time.Now(), running.watcher.Latest()
	answer := statusAnswer{
		Status: readReadiness().Status, Store: running.store.name, Nodes: 1, Zones: len(running.schema.Zones()),
		Rules: rulesStatus{
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

// A nodesAnswer lists the nodes that share the counts.
type nodesAnswer struct {
	// Count is what limits are shared by. It falls some seconds after a node has gone, and is fixed by
	// the setting nodes.
	Count int          `json:"count"`
	Self  string       `json:"self"`
	Nodes []nodeAnswer `json:"nodes"`
}

type nodeAnswer struct {
	Name    string `json:"name"`
	SeenAgo string `json:"seen_ago,omitempty"`
}

// getNodes answers GET /rate_limit/nodes. A node that counts in memory is alone.
func getNodes(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	m := running.store.nodes
	if m == nil {
		self, _ := os.Hostname() // no name is no error here
		writeJSON(w, http.StatusOK, nodesAnswer{Count: 1, Self: self, Nodes: []nodeAnswer{{Name: self}}})
		return nil
	}
	nodes, err := m.List(r.Context())
	if err != nil {
		return apiError(http.StatusServiceUnavailable, "Redis does not tell which nodes there are: %w: use "+
			"GET /rate_limit/health/ready to see why", err)
	}
	answer := nodesAnswer{Count: m.Nodes(), Self: m.Name(), Nodes: []nodeAnswer{}}
	for _, n := range nodes {
		answer.Nodes = append(answer.Nodes, nodeAnswer{n.Name, n.Seen.String()})
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// A zoneAnswer describes a zone of the running configuration, with what the rules change of it.
type zoneAnswer struct {
	Name    string           `json:"name"`
	Key     string           `json:"key,omitempty"`
	DryRun  string           `json:"dry_run,omitempty"`
	Compare string           `json:"compare,omitempty"` // the percentage of keys
	Limits  []endpointAnswer `json:"limits"`
}

// An endpointAnswer has the limits in force at an endpoint, or in the rest of the zone.
type endpointAnswer struct {
	Endpoint string       `json:"endpoint,omitempty"`
	Tiers    []tierAnswer `json:"tiers"`
}

// A tierAnswer is a limit in force for a tier, or for keys without one.
type tierAnswer struct {
	Tier      string   `json:"tier,omitempty"`
	Limit     string   `json:"limit"`
	Algorithm string   `json:"algorithm"`
	From      []origin `json:"from"` // the last is in force

	Compared *comparedAnswer `json:"compared,omitempty"`
}

// A comparedAnswer is what the limit in force is compared with.
type comparedAnswer struct {
	Limit     string `json:"limit"`
	Algorithm string `json:"algorithm"`
}

// getZones answers GET /rate_limit/zones.
func getZones(w http.ResponseWriter, _ *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	zones := []zoneAnswer{}
	for _, name := range running.schema.Zones() {
		zones = append(zones, running.describe(running.schema.zone(name)))
	}
	writeJSON(w, http.StatusOK, map[string]any{"zones": zones})
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

func (a *runningApp) describe(z *zone) zoneAnswer {
	i := inspector{running: a, zone: z, config: a.definition(z.name)}
	answer := zoneAnswer{Name: z.name, Key: i.config.Key, Limits: []endpointAnswer{}}
	inForce := a.inForce.of(z)
	for place := range inForce.endpoints {
		e := &inForce.endpoints[place]
		described := endpointAnswer{Endpoint: e.name(), Tiers: []tierAnswer{}}
		for number, r := range e.rules {
			if r == nil {
				continue
			}
			tier := ""
			if number != noTier {
				tier = z.tiers.names[number]
			}
			described.Tiers = append(described.Tiers, tierAnswer{
				Tier: tier, Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm), From: i.origins(e, place, tier),
				Compared: inForce.compared.describe(place, number),
			})
		}
		if len(described.Tiers) > 0 {
			answer.Limits = append(answer.Limits, described)
		}
	}
	if share := i.config.DryRun; share > 0 {
		answer.DryRun = formatPercent(float64(share))
	}
	if inForce.compared != nil {
		answer.Compare = formatPercent(inForce.compared.fraction)
	}
	if changes := a.inForce.version.Document.Zones[z.name]; changes != nil && changes.DryRun != "" {
		answer.DryRun = changes.DryRun
	}
	return answer
}

// describe returns the rule at a place of the zone for a tier, or nil if there is none.
func (c *comparedRules) describe(place, tier int) *comparedAnswer {
	if c == nil || c.endpoints[place].rules[tier] == nil {
		return nil
	}
	r := c.endpoints[place].rules[tier]
	return &comparedAnswer{r.limit.String(), algorithmText(r.base.Algorithm)}
}

// algorithmText returns an algorithm as parseAlgorithm reads it.
func algorithmText(a limiter.Algorithm) string {
	if a.SubWindows > 1 {
		return a.Kind.String() + " " + strconv.Itoa(a.SubWindows)
	}
	return a.Kind.String()
}
