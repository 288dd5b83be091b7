package inspect

import (
	"slices"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/adaptive"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Zone describes a zone, which exists.
func Zone(s *zone.Snapshot, name string) api.ZoneLimits {
	z := s.Set().Named(name)
	settings, changes := z.Settings(), s.Version.Document.Zones[name]
	answer := api.ZoneLimits{
		Name: z.Name, Key: settings.Key, Limits: []api.EndpointLimits{}, Adaptive: describeAdaptive(z.Adaptive),
	}
	i := inspector{snapshot: s, zone: z}
	described := -1 // the endpoint of the last element
	for _, s := range s.Slots(z) {
		if !s.Own {
			continue // the count is that of the zone
		}
		if s.Place != described {
			described = s.Place
			answer.Limits = append(answer.Limits, api.EndpointLimits{Endpoint: s.Endpoint})
		}
		limits := &answer.Limits[len(answer.Limits)-1]
		limits.Tiers = append(limits.Tiers, i.describe(&s))
	}
	if share := settings.DryRun; share > 0 {
		answer.DryRun = config.FormatPercent(float64(share))
	}
	if fraction, compares := s.Compares(z); compares {
		answer.Compare = config.FormatPercent(fraction)
	}
	if changes != nil && changes.DryRun != "" {
		answer.DryRun = changes.DryRun
	}
	return answer
}

// Limits returns the limits in force of all zones, at each endpoint for each tier that keys can
// have. Those of single keys are not among them.
func Limits(s *zone.Snapshot) (all []usage.LimitInForce) {
	for _, name := range s.Set().Zones() {
		for _, s := range s.Slots(s.Set().Named(name)) {
			if !s.Missing && limits(s.Limit) {
				all = append(all, usage.LimitInForce{
					Zone: name, Endpoint: s.Endpoint, Tier: s.Tier, Events: s.Written.Events, Window: time.Duration(s.Written.Window),
				})
			}
		}
	}
	return all
}

// Counted returns the slots of a zone that have a limit of the rate, and a count of their own.
// Those with limits of requests at once alone are not among them.
func Counted(s *zone.Snapshot, name string) []zone.Slot {
	return slices.DeleteFunc(s.Slots(s.Set().Named(name)), func(s zone.Slot) bool { return !s.Own || !limits(s.Limit) })
}

// limits reports whether there is a limit p that limits anything.
func limits(p *response.Policy) bool { return p != nil && !p.Unlimited() }

// describe returns the limit of a slot.
func (i *inspector) describe(s *zone.Slot) api.TierLimit {
	described := api.TierLimit{Tier: s.Tier, Missing: s.Missing, Limit: "unlimited", From: []api.Origin{}}
	if c := s.Compared; c != nil {
		described.Compared = &api.ComparedLimit{Limit: c.Limit.LimitText(), Algorithm: algorithmText(c.Algorithm)}
	}
	if s.Limit != nil {
		described.Limit, described.Algorithm = s.Limit.LimitText(), algorithmText(s.Algorithm)
		described.From = i.origins(s)
	}
	return described
}

// describeAdaptive describes the limiter of a zone, nil if it has none.
func describeAdaptive(l *adaptive.Limiter) *api.Adaptive {
	if l == nil {
		return nil
	}
	s := l.Settings()
	return &api.Adaptive{
		Limit: l.Limit(), InFlight: l.InFlight(), MaxLatency: s.MaxLatency.String(), Min: s.Min, Max: s.Max,
	}
}

// algorithmText returns an algorithm in the syntax of the Caddyfile.
func algorithmText(a limiter.Algorithm) string {
	if a.SubWindows > 1 {
		return a.Kind.String() + " " + strconv.Itoa(a.SubWindows)
	}
	return a.Kind.String()
}
