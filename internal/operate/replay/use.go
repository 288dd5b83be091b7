package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A use is a handler that uses the zone, and the matchers of the routes around it. A request comes
// to the handler if all these matchers match. What handlers before it do is not considered.
type use struct {
	handler config.Found

	around    []caddyhttp.MatcherSets
	settings  *config.Zone
	matchers  caddyhttp.MatcherSets // matchers of the zone
	addresses zone.Addresses
	zone      *zone.Zone
}

// provision loads the matchers.
func (u *use) provision(ctx caddy.Context, app *config.App, name string) (err error) {
	if err := u.handler.Check(); err != nil {
		return err
	}
	if u.settings, err = app.Zones.DefinitionFor(name, u.handler.Zones[name]); err != nil {
		return fmt.Errorf("zone %q: %w", name, err)
	}
	if u.matchers, err = loadMatchers(ctx, u.settings.MatcherSetsRaw); err != nil {
		return fmt.Errorf("zone %q: %w", name, err)
	}
	for _, match := range u.handler.Around {
		var raw caddyhttp.RawMatcherSets
		text, err := json.Marshal(match)
		if err == nil {
			err = json.Unmarshal(text, &raw)
		}
		if err != nil {
			return err
		}
		sets, err := loadMatchers(ctx, raw)
		if err != nil {
			return err
		}
		u.around = append(u.around, sets)
	}
	u.addresses, err = zone.NewAddresses(u.handler.Allow, u.handler.Deny)
	return err
}

// loadMatchers loads a copy of raw, because Caddy removes what it has loaded.
func loadMatchers(ctx caddy.Context, raw caddyhttp.RawMatcherSets) (sets caddyhttp.MatcherSets, err error) {
	holder := struct {
		MatcherSetsRaw caddyhttp.RawMatcherSets `json:"match,omitempty" caddy:"namespace=http.matchers"`
	}{}
	for _, set := range raw {
		holder.MatcherSetsRaw = append(holder.MatcherSetsRaw, maps.Clone(set))
	}
	loaded, err := ctx.LoadModule(&holder, "MatcherSetsRaw")
	if err == nil {
		err = sets.FromInterface(loaded)
	}
	if err != nil {
		return nil, fmt.Errorf("loading matchers: %w", err)
	}
	return sets, nil
}

// gets reports whether a request comes to the handler. Matchers of hosts alone let all requests
// through if the log has no hosts.
func (u *use) gets(r *http.Request) (bool, error) {
	for _, sets := range u.around {
		if r.Host == "" && onlyHosts(sets) {
			continue
		}
		if matches, err := sets.AnyMatchWithError(r); err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}

// onlyHosts reports whether sets look at nothing but the host.
func onlyHosts(sets caddyhttp.MatcherSets) bool {
	for _, set := range sets {
		for _, m := range set {
			if _, is := m.(*caddyhttp.MatchHost); !is {
				return false
			}
		}
	}
	return true
}
