package logzone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/zone"
)

// A use is a handler that uses the zone, and the matchers of the routes around it. A request comes to it
// if all of them match. What handlers before it do is not considered.
type use struct {
	handler *config.Handler
	raw     []json.RawMessage // of around

	around    []caddyhttp.MatcherSets
	settings  *config.Zone
	matchers  caddyhttp.MatcherSets // of the zone
	addresses zone.Addresses
	zone      *zone.Zone
}

// usesOf returns the uses of a zone in a configuration, in a fixed order.
func usesOf(text []byte, name string) (uses []*use, err error) {
	var whole struct {
		Apps struct {
			HTTP any `json:"http"`
		} `json:"apps"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&whole); err != nil {
		return nil, err
	}
	var find func(in any, around []json.RawMessage) error
	find = func(in any, around []json.RawMessage) error {
		switch v := in.(type) {
		case []any:
			for _, element := range v {
				if err := find(element, around); err != nil {
					return err
				}
			}
		case map[string]any:
			if v["handler"] == "rate_limit" {
				h := new(config.Handler)
				delete(v, "handler")
				text, err := json.Marshal(v)
				if err == nil {
					err = h.UnmarshalJSON(text)
				}
				if _, has := h.Zones[name]; err == nil && has {
					uses = append(uses, &use{handler: h, raw: slices.Clone(around)})
				}
				return err
			}
			if _, is := v["handle"]; is && v["match"] != nil {
				raw, err := json.Marshal(v["match"])
				if err != nil {
					return err
				}
				around = append(slices.Clip(around), raw)
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if err := find(v[key], around); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return uses, find(whole.Apps.HTTP, nil)
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
	for _, text := range u.raw {
		var raw caddyhttp.RawMatcherSets
		if err := json.Unmarshal(text, &raw); err != nil {
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

// loadMatchers loads a copy: Caddy removes what it has loaded.
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

// gets reports whether a request comes to the handler. Matchers of hosts alone let all requests through
// if the log has no hosts.
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
