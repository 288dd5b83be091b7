package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/recent"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// Try tries a limit on the decisions that are remembered of a zone, and has the zone remember
// decisions from now on. limits are the limits in force. Try returns an error if the request has a
// mistake.
func Try(used *usage.ZoneCounters, limits []zone.Slot, now time.Time, q *api.TryRequest) (*api.Trial, error) {
	at := now.UnixMicro()
	used.Recent.Want(at)
	view := used.Recent.View(at)
	tiers := make(map[uint32]string)
	for _, c := range used.AllCounters() {
		tiers[c.Number] = c.Tier
	}
	place, err := choose(limits, view.Decisions, tiers, q)
	if err != nil {
		return nil, err
	}
	rule := place.Limit.Rule
	if rule == nil {
		return nil, fmt.Errorf("the limit in force there is %s: use an endpoint or a tier with a rate", place.Limit.LimitText())
	}
	options := sim.Options{Rule: *rule, InForce: true, Candidates: sim.Ladder(rule.Limit)}
	tried := rule.Limit
	if q.Limit != "" {
		limit, err := config.ParseLimit(q.Limit)
		switch {
		case err != nil:
			return nil, fmt.Errorf("limit: %w", err)
		case limit.Unlimited || limit.Block:
			return nil, fmt.Errorf("limit: %s rejects nobody or all: use a rate such as 100/1m", q.Limit)
		}
		tried = limit.Compile()
		options.Candidates = append(options.Candidates, tried)
	}
	study, err := sim.New(options)
	if err != nil {
		return nil, fmt.Errorf("limit: %w: use another one", err)
	}
	numbers := make(map[uint64]sim.Key)
	for _, d := range view.Decisions {
		if !chargedTo(&d, place, tiers) {
			continue
		}
		key, known := numbers[d.Key]
		if !known {
			key = sim.Key(len(numbers))
			numbers[d.Key] = key
		}
		study.Add(sim.Arrival{At: limiter.Instant(d.At), Key: key, Cost: d.Cost})
	}
	t := &api.Trial{
		Zone: used.Name, Endpoint: place.Endpoint, Tier: place.Tier, Since: time.UnixMicro(view.Since).UTC(), KeysPart: view.Part,
		Algorithm: rule.Algorithm.Kind.String(), Limits: []api.TriedLimit{},
	}
	addCurve(t, study.Report(0, nil), rule.Limit, tried, q.Limit != "")
	return t, nil
}

// chargedTo reports whether the request of a decision was charged to a limit.
func chargedTo(d *recent.Decision, l *zone.Slot, tiers map[uint32]string) bool {
	return d.Count == l.Limit.CountID && (l.Missing || tiers[d.Place] == l.Tier)
}

// choose returns the limit of the endpoint and tier of a request, or else the limit with the most
// decisions.
func choose(limits []zone.Slot, decisions []recent.Decision, tiers map[uint32]string, q *api.TryRequest) (*zone.Slot, error) {
	if len(limits) == 0 {
		return nil, fmt.Errorf("the zone has no rate: use a zone with `limit`")
	}
	if q.Endpoint == "" && q.Tier == "" {
		most, best := -1, 0
		for i := range limits {
			n := 0
			for j := range decisions {
				if chargedTo(&decisions[j], &limits[i], tiers) {
					n++
				}
			}
			if limits[i].Limit.Rule != nil && n > most {
				most, best = n, i
			}
		}
		return &limits[best], nil
	}
	var all []string
	for i, l := range limits {
		if l.Endpoint == q.Endpoint && l.Tier == q.Tier && !l.Missing {
			return &limits[i], nil
		}
		all = append(all, fmt.Sprintf("endpoint %q with tier %q", l.Endpoint, l.Tier))
	}
	return nil, fmt.Errorf("there is no limit of its own at endpoint %q for tier %q: use %s", q.Endpoint, q.Tier, strings.Join(all, ", or "))
}

// addCurve adds the results of a report to an answer. The curve ends with the first limit that
// rejects nothing, or with the limit in force or the tried limit, if one of these is higher.
func addCurve(t *api.Trial, r *sim.Report, inForce, tried limiter.Limit, asked bool) {
	t.Requests, t.Keys = r.Trace.Requests, r.Trace.Keys
	is := func(o *sim.Outcome, l limiter.Limit) bool {
		return o.Limit.Events == l.Events && o.Limit.WindowSeconds == l.Window.Seconds() && o.Limit.Burst == l.Burst
	}
	last := 0
	for i := range r.Curve {
		if o := &r.Curve[i]; is(o, inForce) || is(o, tried) {
			last = i
		}
	}
	end := slices.IndexFunc(r.Curve, func(o sim.Outcome) bool { return o.RequestsRejected == 0 })
	if end < 0 {
		end = len(r.Curve) - 1
	}
	for i := range r.Curve[:max(last, end)+1] {
		o := &r.Curve[i]
		t.Limits = append(t.Limits, api.TriedLimit{
			Limit: limitText(o.Limit), InForce: is(o, inForce), Tried: asked && is(o, tried),
			RequestsRejected: o.RequestsRejected, RequestsPart: o.RequestsShare, KeysRejected: o.KeysRejected, KeysPart: o.KeysShare,
		})
	}
	if r.Recommends != nil && t.Requests > 0 {
		t.Recommended = limitText(*r.Recommends)
	}
}

// limitText returns a limit as it is written in a Caddyfile.
func limitText(l sim.Limit) string {
	window := time.Duration(l.WindowSeconds * float64(time.Second)).Round(time.Microsecond)
	limit := config.Limit{Events: l.Events, Window: caddy.Duration(window), Burst: l.Burst}
	return limit.String()
}
