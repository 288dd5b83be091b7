package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// This file holds the subdirectives that only configurations of caddy-ratelimit have.

// distributed parses the intervals of distributed counting; without a block, too, it is there.
func (p *directiveParser) distributed([]string) error {
	c := new(Distributed)
	p.h.Distributed = c
	if !opensBlock(p.Dispenser) {
		return nil
	}
	b := block{of: "distributed", mayBeEmpty: true, lines: map[string]line{
		"read_interval":  durationLine(p.Dispenser, "read_interval", &c.ReadInterval),
		"write_interval": durationLine(p.Dispenser, "write_interval", &c.WriteInterval),
		"purge_age":      durationLine(p.Dispenser, "purge_age", &c.PurgeAge),
	}}
	_, err := b.read(p.Dispenser)
	return err
}

// storage parses a storage module.
func (p *directiveParser) storage([]string) error {
	if !p.NextArg() {
		return p.Errf("wrong number of arguments: say `storage <module...>`")
	}
	id := "caddy.storage." + p.Val()
	module, err := caddyfile.UnmarshalModule(p.Dispenser, id)
	if err != nil {
		return err
	}
	storage, ok := module.(caddy.StorageConverter)
	if !ok {
		return p.Errf("module %s is not a storage: say one of the modules of caddy.storage", id)
	}
	p.h.StorageRaw = caddyconfig.JSONModuleObject(storage, "module", module.(caddy.Module).CaddyModule().ID.Name(), nil)
	return nil
}

// events parses the events per window.
func (p *zoneParser) events(args []string) error {
	n, err := parseEvents(args[0])
	if err != nil {
		return p.WrapErr(err)
	}
	if n == 0 {
		return p.Errf("0 events admit nothing: say `limit block` instead of events and window to reject every request")
	}
	p.zone.MaxEvents = n
	return nil
}

// window parses the length of the window.
func (p *zoneParser) window(args []string) error {
	w, err := parseWindow(args[0])
	if err != nil {
		return p.WrapErr(err)
	}
	p.zone.Window = caddy.Duration(w)
	return nil
}

// finishLegacy checks a zone in the syntax of caddy-ratelimit once it is read.
func (p *zoneParser) finishLegacy() error {
	for _, name := range []string{"limit", "algorithm", "tier", "endpoint", "cost", "mode", "max_overshoot", "on_ambiguous_key"} {
		if place := p.places[name]; place != nil {
			return place.Errf("%s cannot stand beside events and window: say `limit %s` instead of those two",
				name, p.legacyRate())
		}
	}
	for _, name := range []string{"events", "window"} {
		if p.places[name] == nil {
			return p.place.Errf("zone %q has no %s: say both events and window, or instead `limit <events>/<window>`",
				p.name, name)
		}
	}
	return nil
}

// legacyRate returns what the zone says in events and window as a rate, as far as it says it.
func (p *zoneParser) legacyRate() string {
	if p.zone.MaxEvents == 0 || p.zone.Window == 0 {
		return "<events>/<window>"
	}
	return (&Limit{Events: p.zone.MaxEvents, Window: p.zone.Window}).String()
}
