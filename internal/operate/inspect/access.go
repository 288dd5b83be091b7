package inspect

import (
	"net/netip"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// access returns what allows or denies the key, whatever it consumes.
func (i *inspector) access() *api.DecidedBy {
	if by := i.accessByAddress(); by != nil {
		return by
	}
	return i.accessByKey()
}

// accessByKey returns what allows or denies the key in its zone.
func (i *inspector) accessByKey() *api.DecidedBy {
	isAbout := func(e *rules.AccessEntry) bool { return i.entries[&e.Entry] }
	allowed, denied := i.zone.ListsKey(i.text())
	return accessOf(i.snapshot.Version.Document.Access, isAbout, denied, allowed)
}

// accessByAddress returns what allows or denies the client whose address is the key, before any
// zone.
func (i *inspector) accessByAddress() *api.DecidedBy {
	p, err := ipset.ParsePrefix(i.named)
	if err != nil || !countsAddresses(i.zone, i.key.Missing) {
		return nil
	}
	var lists []*zone.Addresses
	for _, z := range i.snapshot.Set().ZonesCalled(i.zone.Name) {
		lists = append(lists, z.Addresses)
	}
	return accessOfAddresses(p, i.snapshot.Version.Document.Access, i.now, lists...)
}

// clientIP is the placeholder of the client's address as Caddy determines it.
const clientIP = "http.vars." + caddyhttp.ClientIPVarKey

// countsAddresses reports whether the keys of z are the addresses of clients. missing is for the
// keys of requests without a key.
func countsAddresses(z *zone.Zone, missing bool) bool {
	t := z.Key
	if missing {
		t, _ = z.MissingKey()
	}
	return t != nil && slices.Equal(t.Placeholders(), []string{clientIP})
}

// accessOfAddresses returns what allows or denies all addresses of a range, before any zone:
// entries of the rules, or lists of handlers.
func accessOfAddresses(
	p netip.Prefix, entries []*rules.AccessEntry, now time.Time, lists ...*zone.Addresses,
) *api.DecidedBy {
	isAbout := func(e *rules.AccessEntry) bool { return e.Address != "" && !e.Expired(now) && contains(e.Address, p) }
	var allowed, denied bool
	for _, f := range lists {
		allows, denies := f.Covers(p)
		allowed, denied = allowed || allows, denied || denies
	}
	return accessOf(entries, isAbout, denied, allowed)
}

// accessOf returns what allows or denies a client: those entries of the rules that are about it, or
// the configuration, which denies it, allows it, or both. Denials come first.
func accessOf(
	entries []*rules.AccessEntry, isAbout func(*rules.AccessEntry) bool, denied, allowed bool,
) (by *api.DecidedBy) {
	for _, e := range entries {
		if (by == nil || e.Action == rules.Deny) && isAbout(e) {
			by = &api.DecidedBy{Action: e.Action, Source: api.FromRules, Entry: e.ID}
		}
	}
	switch {
	case by != nil && by.Action == rules.Deny:
	case denied:
		return &api.DecidedBy{Action: rules.Deny, Source: api.FromConfiguration}
	case by == nil && allowed:
		return &api.DecidedBy{Action: rules.Allow, Source: api.FromConfiguration}
	}
	return by
}

// contains reports whether a prefix, as a text, has all addresses of p.
func contains(prefix string, p netip.Prefix) bool {
	r, err := ipset.ParsePrefix(prefix)
	return err == nil && r.Bits() <= p.Bits() && r.Contains(p.Addr())
}
