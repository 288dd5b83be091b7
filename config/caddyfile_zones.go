package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// A zonesParser parses the zones of the directive or of the global option.
type zonesParser struct {
	*caddyfile.Dispenser
	rest    Caddyfile
	inApp   bool // the zones are the global option's, not a directive's
	zones   Zones
	defined map[string]*caddyfile.Dispenser // where each zone is defined
}

// parse parses the zone whose name is the argument. Of zones with one name in the syntax of
// caddy-ratelimit, the last one wins, as in that plugin.
func (p *zonesParser) parse(args []string) error {
	name, place := args[0], subdirective.Here(p.Dispenser)
	z, err := p.parseZone(name)
	if err != nil {
		return err
	}
	if earlier, found := p.zones[name]; found && !(earlier.Legacy() && z.Legacy()) {
		return place.Errf("zone %q is already specified at %s: use it once, or another name", name, earlier.Place)
	}
	if p.zones == nil {
		p.zones, p.defined = make(Zones), make(map[string]*caddyfile.Dispenser)
	}
	p.zones[name], p.defined[name] = z, place
	return nil
}

// compareWithOthers checks that the zones can share their counts with the zones of the same names
// in other directives.
func (p *zonesParser) compareWithOthers() error {
	if p.rest.State == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.zones)) {
		z, key := p.zones[name], "rate_limit.zone."+name
		if z.IsUse() {
			continue
		}
		if other, found := p.rest.State[key].(*Zone); found && !z.CanShareCounts(other) {
			return p.defined[name].Errf("zone %q is already defined at %s: use another name, or share the counts of one "+
				"definition by `zone %s {` in the global option rate_limit and `zone %s` in both directives",
				name, other.Place, name, name)
		}
		p.rest.State[key] = z
	}
	return nil
}

// placeOf returns the file and line of the current token.
func placeOf(d *caddyfile.Dispenser) string {
	return fmt.Sprintf("%s:%d", cmp.Or(d.File(), "Caddyfile"), d.Line())
}
