package fleetlimit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A ruleSchema is what rules can refer to in the configuration of an app.
type ruleSchema struct{ app *App }

// zone returns the zone of a name, nil if there is none. Zones of one name have equal limits; any of
// them is returned.
func (s ruleSchema) zone(name string) *zone {
	for _, z := range s.app.allZones() {
		if z.name == name {
			return z
		}
	}
	return nil
}

// Zones implements rules.Schema.
func (s ruleSchema) Zones() (names []string) {
	for _, z := range s.app.allZones() {
		names = append(names, z.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tiers implements rules.Schema.
func (s ruleSchema) Tiers(zone string) []string {
	if z := s.zone(zone); z != nil && z.tiers != nil {
		return slices.Clone(z.tiers.names[1:])
	}
	return nil
}

// Endpoints implements rules.Schema.
func (s ruleSchema) Endpoints(zone string) (names []string) {
	z := s.zone(zone)
	if z == nil {
		return nil
	}
	for i := range z.configured.endpoints {
		if e := &z.configured.endpoints[i]; e.route != nil {
			names = append(names, e.name())
		}
	}
	return names
}

// Limit implements rules.Schema.
func (s ruleSchema) Limit(zone, endpoint, tier, text string) error {
	z := s.zone(zone)
	if z == nil {
		return s.noZone(zone)
	}
	b := z.builder.copy(nil)
	if err := b.put(placedLimit{endpoint, tier, text}); err != nil {
		return err
	}
	_, err := b.endpoints()
	return err
}

// EmergencyLimit implements rules.Schema.
func (ruleSchema) EmergencyLimit(text string) error {
	_, err := parseEmergencyLimit(text)
	return err
}

// DryRun implements rules.Schema.
func (ruleSchema) DryRun(text string) error {
	if _, err := parsePercent(text); err != nil {
		return fmt.Errorf("%w of keys: use %s", err, percentLike(text, "10%"))
	}
	return nil
}

// Compare implements rules.Schema.
func (s ruleSchema) Compare(zone string, with *rules.Comparison) error {
	z := s.zone(zone)
	if z == nil {
		return s.noZone(zone)
	}
	b := z.builder.copy(nil)
	var err error
	if b.zone.Compare, err = parseComparison(with); err != nil {
		return err
	}
	endpoints, err := b.endpoints()
	if err == nil {
		_, err = b.compare(&zoneRules{endpoints: endpoints, compiled: b.compiled})
	}
	return err
}

// Key implements rules.Schema.
func (s ruleSchema) Key(key rules.Key) (shared bool, err error) {
	z := s.zone(key.Zone)
	if z == nil {
		return false, s.noZone(key.Zone)
	}
	_, err = z.keysOf(&key)
	return !key.Missing && len(z.key.Placeholders()) == 0, err
}

func (s ruleSchema) noZone(name string) error {
	return fmt.Errorf("there is no zone %q: use one of %q", name, s.Zones())
}

// A keyCount is a count of a key with the rule that is in force for it.
type keyCount struct {
	Endpoint string // "": the rest of the zone
	Tier     string // "": none, or one that only a request names
	Override bool
	Key      []byte // as requests have it
	Rule     *limiter.Rule
	Limit    Limit // "block" and "unlimited" have a Rule, too: that of the count
}

// countsOf returns the counts of a key at an endpoint, or in the whole zone if that is "".
func (a *App) countsOf(k *keyRef, endpoint string) (counts []keyCount, err error) {
	z := ruleSchema{a}.zone(k.Zone)
	if z == nil {
		return nil, ruleSchema{a}.noZone(k.Zone)
	}
	keys, err := z.resolve(k)
	if err != nil {
		return nil, err
	}
	inForce := a.rulesInForce().of(z)
	for i := range inForce.endpoints {
		e := &inForce.endpoints[i]
		if endpoint != "" && e.name() != endpoint {
			continue
		}
		for _, key := range keys {
			counts = append(counts, inForce.countsOf(z, i, &k.Key, key)...)
		}
	}
	if len(counts) == 0 {
		err = fmt.Errorf("zone %q has no count of the key there: use one of the endpoints %q", k.Zone,
			ruleSchema{a}.Endpoints(k.Zone))
	}
	return counts, err
}

// countsOf returns the counts of a key at an endpoint: one, or none, or with a comparison two.
func (c *zoneRules) countsOf(z *zone, place int, k *rules.Key, key []byte) (counts []keyCount) {
	now := time.Now()
	entries := c.keys.of(key)
	if entries == nil {
		entries = new(keyEntries)
	}
	at := placement{endpoint: place, tier: withoutKey, override: entries.overrideAt(now, place)}
	if !k.Missing || !z.missing.limited {
		var given bool
		if at.tier, given = entries.tierAt(now); !given {
			at.tier = z.tiers.ofText(k)
		}
	}
	add := func(endpoints []endpointRules) {
		r, e := at.rule(endpoints), &endpoints[place]
		if r == nil {
			return
		}
		count := keyCount{Endpoint: e.name(), Key: key, Override: at.override != nil, Limit: r.limit, Rule: r.Rule}
		if at.tier > noTier {
			count.Tier = z.tiers.names[at.tier]
		}
		if i := slices.IndexFunc(e.all(), func(r *rule) bool { return r.Rule != nil }); r.Rule == nil && i >= 0 {
			count.Rule = e.all()[i].Rule // of the same count
		}
		if count.Rule != nil {
			counts = append(counts, count)
		}
	}
	add(c.endpoints)
	if c.compared != nil && c.compared.keys.Includes(key) {
		add(c.compared.endpoints)
	}
	return counts
}

// ofText returns the tier of a key as far as its text decides it.
func (f *tierFinder) ofText(k *rules.Key) int {
	if f == nil {
		return noTier
	}
	text, _ := k.Bytes() // it has been checked
	return cmp.Or(f.ofPattern(string(text)), f.fallback)
}

// Interface guard.
var _ rules.Schema = ruleSchema{}
