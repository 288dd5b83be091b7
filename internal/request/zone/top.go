package zone

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Top returns the keys that use a zone most, of a view of its lists.
func (s *Snapshot) Top(zone string, q *api.TopQuery, view *topkeys.View) *api.Top {
	z, inForce := s.rulesOf(zone)
	counted := newCountedRules(z, inForce, q.Endpoint, time.Now())
	var all []*usedKey
	for _, k := range newUsedKeys(view) {
		if counted.byID[k.Rule] != nil {
			k.rule = counted.ruleOf(k)
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
			answer.Keys = append(answer.Keys, counted.describe(k, s.set.showsKeys(zone)))
		}
	}
	return answer
}

// A usedKey is a key of the lists of a zone, and how many events per second it has had.
type usedKey struct {
	topkeys.ID
	limit                  uint32
	taken, rejected, error float64
	rule                   *rule
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
	if u.rule.Rule == nil {
		return 0
	}
	events, microseconds := u.rule.Rate()
	return u.taken * float64(microseconds) / 1e6 / float64(events)
}

// countedRules are the rules of the counts of a zone.
type countedRules struct {
	zone *Zone
	keys keyTable[keyEntries]
	now  time.Time
	byID map[uint32]*countedPlace
}

// A countedPlace is where in a zone counts with one ID are.
type countedPlace struct {
	place    int // index of the endpoint; -1: there are several
	endpoint string
	rules    []*rule // the likeliest first
}

// newCountedRules returns the rules of an endpoint, or of all of the zone.
func newCountedRules(z *Zone, inForce *zoneRules, endpoint string, now time.Time) *countedRules {
	c := &countedRules{zone: z, keys: inForce.keys, now: now, byID: make(map[uint32]*countedPlace)}
	for i := range inForce.endpoints {
		e := &inForce.endpoints[i]
		if endpoint != "" && e.name() != endpoint {
			continue
		}
		rules := e.all()
		if z.tiers != nil {
			rules = append([]*rule{e.rules[z.tiers.fallback]}, rules...)
		}
		for _, r := range rules {
			if endpoint != "" || inForce.countedAt(i, r) == i {
				c.add(i, e.name(), r)
			}
		}
		for _, p := range e.concurrent {
			if p != nil && c.byID[p.CountID] == nil { // the endpoint has no limit of a rate
				r := &rule{Policy: response.NewConcurrentPolicy(z.Name, p.Concurrent)}
				r.CountID = p.CountID
				c.add(i, e.name(), r)
			}
		}
	}
	return c
}

func (c *countedRules) add(place int, endpoint string, r *rule) {
	if r == nil {
		return
	}
	p := c.byID[r.CountID]
	switch {
	case p == nil:
		p = &countedPlace{place: place, endpoint: endpoint}
		c.byID[r.CountID] = p
	case p.place != place: // that of requests without a key
		p.place, p.endpoint = -1, ""
	}
	p.rules = append(p.rules, r)
}

// ruleOf returns the rule that a key was used under last, or else the likeliest of those in force.
func (c *countedRules) ruleOf(k *usedKey) *rule {
	p := c.byID[k.Rule]
	all := p.rules
	if all[0].Concurrent != nil {
		return all[0]
	}
	if entries := c.keys.find([]byte(k.Key)); entries != nil {
		if o := entries.overrideAt(c.now, p.place); o != nil {
			all = make([]*rule, len(p.rules))
			for i, r := range p.rules {
				all[i] = o.applyTo(r)
			}
		}
	}
	if i := slices.IndexFunc(all, func(r *rule) bool { return limitIDOf(r.Rule) == k.limit }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// limitIDOf returns the ID of the limit of a rule, or 0 if the rule is nil.
func limitIDOf(r *limiter.Rule) uint32 {
	if r == nil {
		return 0
	}
	return r.LimitID()
}

// limitText returns the limit of r as in the Caddyfile.
func (r *rule) limitText() string {
	if r.Concurrent != nil {
		return fmt.Sprintf("concurrent %d", r.Concurrent.Limit)
	}
	return r.limit.String()
}

// describe returns a key as operators read it. A key that may be a secret is shown shortened.
func (c *countedRules) describe(k *usedKey, show bool) api.TopKey {
	return api.TopKey{
		ShownKey: c.show(k, show), Limit: k.rule.limitText(),
		Demand: rounded(k.taken + k.rejected), Taken: rounded(k.taken), Rejected: rounded(k.rejected),
		Error: rounded(max(0, k.error)), Utilisation: rounded(k.utilisation()),
	}
}

// show returns what operators may see of a key.
func (c *countedRules) show(k *usedKey, show bool) api.ShownKey {
	answer := c.zone.show([]byte(k.Key), show)
	answer.Endpoint = c.byID[k.Rule].endpoint
	return answer
}

// show returns what operators may see of a key that the store has. show says that it is no secret.
func (z *Zone) show(key []byte, show bool) (answer api.ShownKey) {
	name, exact := z.nameOf(key)
	answer.Missing = name.Missing
	text, _ := name.Bytes() // a digest has none
	if len(text) > 0 {
		answer.Hash = keytemplate.Hash(string(text))
	}
	if !show && !keytemplate.IsDigest(key) && !z.isAddress(key) {
		answer.Shortened = shortened(string(text))
		return answer
	}
	answer.Key, answer.Base64 = name.Text, name.Base64
	if !exact {
		answer.Stored = base64.StdEncoding.EncodeToString(key)
	}
	return answer
}

// shortened returns the first quarter of a key, at most eight characters of it.
func shortened(text string) string {
	runes := []rune(strings.ToValidUTF8(text, string(utf8.RuneError)))
	return string(runes[:min(len(runes)/4, 8)]) + "…"
}

// isAddress reports whether a key is the address of a client, which is no secret: logs have it.
func (z *Zone) isAddress(key []byte) bool {
	return slices.ContainsFunc(z.templates, func(t *keytemplate.Template) bool { return t.IsAddress(key) })
}

// showsKeys reports whether operators may see the keys of a zone: each handler with the zone says so.
func (s *Set) showsKeys(zone string) bool {
	return !slices.ContainsFunc(s.zonesCalled(zone), func(z *Zone) bool { return !z.logKey })
}

// rounded returns a rate without digits that say nothing.
func rounded(rate float64) float64 { return math.Round(rate*100) / 100 }
