package inspect

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Top returns the keys that use a zone most, of a view of its lists. The zone exists.
func Top(s *zone.Snapshot, name string, q *api.TopQuery, view *topkeys.View) *api.Top {
	z, now := s.Set().Named(name), time.Now()
	counted, show := countedPlaces(s, z, q.Endpoint), showsKeys(s, name)
	var all []*usedKey
	for _, k := range newUsedKeys(view) {
		if p := counted[k.Rule]; p != nil {
			k.endpoint, k.policy = p.endpoint, p.limitOf(k, now)
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *usedKey) int {
		return cmp.Or(cmp.Compare(b.rateBy(q.By), a.rateBy(q.By)), strings.Compare(a.Key, b.Key), cmp.Compare(a.Rule, b.Rule))
	})
	answer := &api.Top{
		Zone: z.Name, By: q.By, Unlisted: rounded(view.Taken.Unlisted + view.Rejected.Unlisted), Keys: []api.TopKey{},
	}
	for _, k := range all[:min(q.Most, len(all))] {
		if k.rateBy(q.By) > 0 {
			answer.Keys = append(answer.Keys, api.TopKey{
				ShownKey: k.show(z, show), Limit: k.policy.LimitText(),
				Demand: rounded(k.taken + k.rejected), Taken: rounded(k.taken), Rejected: rounded(k.rejected),
				Error: rounded(max(0, k.error)), Utilisation: rounded(k.utilisation()),
			})
		}
	}
	return answer
}

// A usedKey is a key of the lists of a zone, and how many events per second it has had.
type usedKey struct {
	topkeys.ID
	limit                  uint32
	taken, rejected, error float64

	endpoint string           // with its count; "" if that is of the rest of the zone, or of several endpoints
	policy   *response.Policy // its limit
}

// newUsedKeys returns the keys of both lists. What a list says of keys that it does not have is a
// part of their error.
func newUsedKeys(view *topkeys.View) map[topkeys.ID]*usedKey {
	all, unlisted := make(map[topkeys.ID]*usedKey), view.Taken.Unlisted+view.Rejected.Unlisted
	add := func(list *topkeys.Top, to func(*usedKey) *float64) {
		for _, k := range list.Keys {
			u := all[k.ID]
			if u == nil {
				u = &usedKey{ID: k.ID, limit: k.Limit, error: unlisted}
				all[k.ID] = u
			}
			*to(u) = k.PerSecond
			u.error += k.Error - list.Unlisted
		}
	}
	add(&view.Rejected, func(u *usedKey) *float64 { return &u.rejected })
	add(&view.Taken, func(u *usedKey) *float64 { return &u.taken })
	return all
}

// rateBy returns what keys are sorted by: see api.TopQuery.By.
func (u *usedKey) rateBy(what string) float64 {
	switch what {
	case api.ByTaken:
		return u.taken
	case api.ByRejected:
		return u.rejected
	case api.ByUtilisation:
		return u.utilisation()
	}
	return u.taken + u.rejected
}

// utilisation returns how much of its limit the key uses, 0 if that blocks or is unlimited.
func (u *usedKey) utilisation() float64 {
	if u.policy.Rule == nil {
		return 0
	}
	events, microseconds := u.policy.Rate()
	return u.taken * float64(microseconds) / 1e6 / float64(events)
}

// A countedPlace is where in a zone counts with one ID are.
type countedPlace struct {
	place      int // index of the endpoint; -1: there are several
	endpoint   string
	slots      []zone.Slot      // with limits of the rate; the likeliest first
	concurrent *response.Policy // if the endpoint has no limit of the rate
}

// countedPlaces returns where the counts of an endpoint, or of all of a zone, are, by their IDs.
func countedPlaces(s *zone.Snapshot, z *zone.Zone, endpoint string) map[uint32]*countedPlace {
	places, slots := make(map[uint32]*countedPlace), s.Slots(z)
	_, fallback := z.TierNames()
	likelier := func(s *zone.Slot) int {
		if s.Tier == fallback && !s.Missing {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(slots, func(a, b zone.Slot) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(likelier(&a), likelier(&b)))
	})
	for _, s := range slots {
		if endpoint != "" && s.Endpoint != endpoint {
			continue
		}
		if s.Limit != nil && (endpoint != "" || s.Own) {
			p := placeOf(places, s.Limit.CountID, &s)
			p.slots = append(p.slots, s)
		}
		if s.Concurrent != nil && !s.Missing {
			p := placeOf(places, s.Concurrent.CountID, &s)
			p.concurrent = cmp.Or(p.concurrent, s.Concurrent)
		}
	}
	return places
}

// placeOf returns the place of the counts with an ID, of which some are in s.
func placeOf(places map[uint32]*countedPlace, id uint32, s *zone.Slot) *countedPlace {
	p := places[id]
	switch {
	case p == nil:
		p = &countedPlace{place: s.Place, endpoint: s.Endpoint}
		places[id] = p
	case p.place != s.Place: // that of requests without a key
		p.place, p.endpoint = -1, ""
	}
	return p
}

// limitOf returns the limit that a key was used under last, or else the likeliest of those in
// force.
func (p *countedPlace) limitOf(k *usedKey, now time.Time) (likeliest *response.Policy) {
	for _, s := range p.slots {
		limit := s.LimitFor([]byte(k.Key), now)
		if limitIDOf(limit.Rule) == k.limit {
			return limit
		}
		likeliest = cmp.Or(likeliest, limit)
	}
	return cmp.Or(likeliest, p.concurrent)
}

// limitIDOf returns the ID of the limit of a rule, or 0 if the rule is nil.
func limitIDOf(r *limiter.Rule) uint32 {
	if r == nil {
		return 0
	}
	return r.LimitID()
}

// show returns what operators may see of a key of z. all says that it is no secret.
func (u *usedKey) show(z *zone.Zone, all bool) api.ShownKey {
	answer := shownKey(z, []byte(u.Key), all)
	answer.Endpoint = u.endpoint
	return answer
}

// rounded returns a rate without digits that say nothing.
func rounded(rate float64) float64 { return math.Round(rate*100) / 100 }
