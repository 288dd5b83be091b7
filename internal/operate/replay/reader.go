// Package replay gives the simulator past requests: requests in logs, and requests whose decisions
// a node remembers.
//
// A [Reader] reads the requests of logs by the matchers, key, endpoints, tiers and costs of a zone,
// in the code of package zone. If the log lacks a field, the error names the placeholder or the
// matcher that needs it. [Try] tries a limit on the decisions that a node remembers.
package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// Options say how a zone reads logs.
type Options struct {
	// Recorded takes keys, costs, endpoints and tiers from what the gateway has written into the log
	// about its decisions, so that the log needs nothing that the zone reads.
	Recorded bool

	// Fields are the fields of the log that have the values of placeholders, by the names of the
	// placeholders without braces.
	Fields map[string]string
}

// A Reader reads the requests of logs by a zone. It implements logs.RowReader.
type Reader struct {
	Summary

	name     string
	recorded bool
	zone     *zone.Zone
	rules    *zone.Snapshot
	uses     []*use
	limits   []zone.Slot
	numbers  map[limitOf]uint16 // numbers of the limits
	statuses bool               // requests count by their status
	logger   int                // the field with the name of Caddy's logger

	needs   needs
	made    request
	reading zone.Reading
	key     []byte
}

// A limitOf is the key by which a limit is found. Tiers with equal limits share a policy.
type limitOf struct {
	policy *response.Policy
	tier   string
}

// A Summary says what became of the requests of a log in the zone, besides those that it limits.
type Summary struct {
	Passed       int64 `json:"not_matched"` // by the routes around the zone, or by its matchers
	Skipped      int64 `json:"without_key"` // by on_missing_key skip
	Allowed      int64 `json:"allowed"`     // by allow or allow_key
	Refused      int64 `json:"refused"`     // 403 and 400
	Unlimited    int64 `json:"unlimited"`
	Uncounted    int64 `json:"uncounted"`     // by count_status
	InvalidCosts int64 `json:"invalid_costs"` // they count as 1
	Several      int64 `json:"several"`       // their path is at several endpoints: the first one counts
}

// Load compiles a zone of a configuration of Caddy, which is JSON.
func Load(text []byte, name string, o Options) (*Reader, error) {
	app, uses, err := findUses(text, name)
	if err != nil {
		return nil, err
	}
	z := &Reader{name: name, recorded: o.Recorded, uses: uses}
	settings, err := app.Zones.DefinitionFor(name, uses[0].handler.Zones[name])
	if err != nil {
		return nil, fmt.Errorf("zone %q: %w", name, err)
	}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	for _, u := range uses {
		if err := u.provision(ctx, app, name); err != nil {
			return nil, err
		}
	}
	set := &zone.Set{Defaults: app.DefaultSettings(), SharedTiers: app.Tiers}
	for _, u := range uses {
		u.zone, err = set.New(name, u.settings, zone.Options{
			Usage: &usage.ZoneCounters{Name: name}, Matchers: u.matchers, Addresses: &u.addresses,
		})
		if err != nil {
			return nil, fmt.Errorf("zone %q: %w", name, err)
		}
		set.Add(u.zone)
	}
	z.zone = uses[0].zone
	z.rules, _ = set.Compile(&rules.Version{Document: new(rules.Document)}, nil, time.Time{})
	z.limits = inspect.Counted(z.rules, name)
	if len(z.limits) == 0 {
		return nil, fmt.Errorf("zone %q has no rate to simulate: use a zone with `limit`", name)
	}
	z.number()
	return z, z.findNeeds(settings, o)
}

// number fills in the numbers of the limits.
func (z *Reader) number() {
	z.numbers = make(map[limitOf]uint16)
	for i, l := range z.limits {
		z.numbers[limitOf{l.Limit, l.Tier}] = uint16(i)
		if _, known := z.numbers[limitOf{policy: l.Limit}]; !known {
			z.numbers[limitOf{policy: l.Limit}] = uint16(i)
		}
	}
}

// Limits returns the limits of the zone, by their numbers in requests.
func (z *Reader) Limits() []sim.ZoneLimit {
	all := make([]sim.ZoneLimit, 0, len(z.limits))
	for _, l := range z.limits {
		all = append(all, sim.ZoneLimit{
			Endpoint: l.Endpoint, Tier: l.Tier, Missing: l.Missing, Limit: l.Limit.LimitText(), Count: l.Limit.CountID, Rule: l.Limit.Rule,
		})
	}
	return all
}

// Wants implements logs.RowReader.
func (z *Reader) Wants() []logs.Want { return z.needs.wants }

// KeyName returns how operators write a key of a record.
func (z *Reader) KeyName(key string) string {
	key = key[countSize:]
	if z.recorded {
		return key
	}
	if name := z.zone.KeyName([]byte(key)); name != "" {
		return name
	}
	return fmt.Sprintf("a key with the digest %x", key[1:min(7, len(key))])
}

// countSize is the size of the number of the count, with which a key of a record begins.
const countSize = 4

// record returns the record of a request that is charged to a limit.
func (z *Reader) record(limit uint16, key []byte, cost int64) logs.Record {
	z.key = binary.BigEndian.AppendUint32(z.key[:0], z.limits[limit].Limit.CountID)
	z.key = append(z.key, key...)
	return logs.Record{Key: z.key, Cost: max(1, cost), Rule: limit}
}

// Check returns an error if no line had a field that is needed.
func (z *Reader) Check() error {
	for i, want := range z.needs.wants {
		if want.For != "" && !want.Maybe && z.needs.seen[i] == 0 && z.needs.rows > 0 {
			return fmt.Errorf("none of %d lines has %s, which %s needs: use a log that has it, --field with the name of a field "+
				"that has it, or --recorded if the gateway has written key_hash", z.needs.rows, want, want.For)
		}
	}
	return nil
}

// findUses finds the handlers that use a zone, with the matchers around them.
func findUses(text []byte, name string) (*config.App, []*use, error) {
	app, handlers, err := config.Find(text)
	if err != nil {
		return nil, nil, err
	}
	var uses []*use
	zones := make(config.Zones)
	for _, h := range handlers {
		maps.Copy(zones, h.Zones)
		if _, has := h.Zones[name]; has {
			uses = append(uses, &use{handler: h})
		}
	}
	switch {
	case len(uses) > 0:
		return app, uses, nil
	case len(zones) == 0:
		return nil, nil, errors.New("the configuration has no zone: use one with rate_limit")
	}
	return nil, nil, fmt.Errorf("the configuration has no zone %q: use one of %s", name,
		strings.Join(slices.Sorted(maps.Keys(zones)), ", "))
}
