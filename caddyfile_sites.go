package fleetlimit

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// This file holds what the directives of one Caddyfile have in common: the global option, and zones of the same name.

// zonesState is the key of the zones of a Caddyfile in the state of its adaptation.
const zonesState = "rate_limit.zones"

// definedZone is a zone with the place of its definition.
type definedZone struct {
	*Zone
	place *caddyfile.Dispenser
}

// compareWithOthers checks the handler's zones against those of the same name in other directives of the Caddyfile: they
// share their counts, so they must be the same. In the syntax of caddy-ratelimit they may differ, as there.
func (p *directiveParser) compareWithOthers(state map[string]any) error {
	all, found := state[zonesState].(map[string]definedZone)
	if !found {
		all = make(map[string]definedZone)
		state[zonesState] = all
	}
	for _, name := range slices.Sorted(maps.Keys(p.h.Zones)) {
		z := p.h.Zones[name]
		other, found := all[name]
		if found && !sameZone(z, other.Zone) && !(z.legacy() && other.legacy()) {
			return definedTwice(name, other.place, p.zones[name])
		}
		all[name] = definedZone{z, p.zones[name]}
	}
	return nil
}

// sameZone reports whether two zones can share their counts.
func sameZone(a, b *Zone) bool {
	x, errX := a.shared()
	y, errY := b.shared()
	return errX == nil && errY == nil && x == y
}

func definedTwice(name string, earlier, now *caddyfile.Dispenser) error {
	return now.Errf("zone %q is already defined at %s:%d: give one of the two another name, or, in two "+
		"directives, write both the same to share their counts", name, earlier.File(), earlier.Line())
}

// globalApp returns what the global option says, as far as zones are compiled with it.
func globalApp(helper httpcaddyfile.Helper) (*App, error) {
	app := &App{ruleIDs: make(map[uint32]string)}
	if option, found := helper.Option(appName).(httpcaddyfile.App); found {
		if err := json.Unmarshal(option.Value, app); err != nil {
			return nil, err
		}
	}
	if app.Defaults != nil {
		app.defaults = *app.Defaults
	}
	return app, nil
}
