package inspect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/journal"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A Historian tells what has happened to a zone, or to a key of it.
type Historian struct {
	Subject rules.Subject // whose changes by the rules are wanted
	zone    *zone.Zone
	keys    [][]byte // nil for all
	show    bool     // keys
	key     api.ShownKey
}

// NewHistorian returns a historian of what r asks for in a zone, which exists. Its error is a
// mistake in the key.
func NewHistorian(s *zone.Snapshot, name string, r *api.HistoryRequest) (*Historian, error) {
	z := s.Set().Named(name)
	h := &Historian{zone: z, show: showsKeys(s, name), Subject: rules.Subject{Zone: name}}
	if !r.IsSet() {
		return h, nil
	}
	ref := KeyRef{r.In(name), r.Stored}
	keys, err := ref.resolve(z)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	h.keys = keys
	h.key = api.ShownKey{Key: ref.Text, Base64: ref.Base64, Stored: r.Stored, Missing: ref.Missing, Hash: shownKey(z, keys[0], true).Hash}
	h.Subject.Is = h.isKey()
	addresses := countsAddresses(z, ref.Missing)
	p, notAddress := ipset.ParsePrefix(ref.Text)
	h.Subject.At = func(address string) bool {
		return addresses && notAddress == nil && contains(address, p)
	}
	return h, nil
}

// isKey returns a function that reports whether a name is that of the key. It remembers its
// results, as versions have most of their entries in common.
func (h *Historian) isKey() func(rules.Key, string) bool {
	is := make(map[rules.Key]bool)
	return func(name rules.Key, stored string) bool {
		if stored != "" {
			key, err := base64.StdEncoding.DecodeString(stored)
			return err == nil && h.has(key)
		}
		found, known := is[name]
		if !known {
			keys, _ := h.zone.KeysOf(&name) // one that has become wrong names none
			found = slices.ContainsFunc(keys, h.has)
			is[name] = found
		}
		return found
	}
}

// has reports whether a key, as the store has it, is wanted.
func (h *Historian) has(key []byte) bool {
	return h.keys == nil || slices.ContainsFunc(h.keys, func(k []byte) bool { return bytes.Equal(k, key) })
}

// Tell returns what versions of the rules have changed, and what the journal of node has.
func (h *Historian) Tell(t *rules.Timeline, v *journal.View, node string) *api.History {
	answer := &api.History{
		ShownKey: h.key, Node: node, OldestVersion: t.Oldest, More: t.More, Missed: v.Missed, Events: []api.HistoryEvent{},
	}
	for i := range t.Touches {
		answer.Events = append(answer.Events, h.ofRules(&t.Touches[i]))
	}
	for i := range v.Reloads {
		r := &v.Reloads[i]
		answer.Events = append(answer.Events, api.HistoryEvent{
			Time: r.Time.UTC(), Kind: api.Reloaded, Zone: h.zone.Name, What: reloadText(r), Node: node,
		})
	}
	for i := range v.Events {
		if e := &v.Events[i]; h.has(e.Key) {
			answer.Events = append(answer.Events, h.ofJournal(e, node))
		}
	}
	return answer
}

// ofRules describes what a version has changed.
func (h *Historian) ofRules(t *rules.Touch) api.HistoryEvent {
	e := api.HistoryEvent{
		Time: t.Time.UTC(), Kind: t.What, Zone: h.zone.Name, What: t.Text, Author: t.Version.Author, Reason: t.Reason,
		Version: t.Version.Number, Entry: t.Entry,
	}
	if t.Did != "" {
		e.Kind += "_" + t.Did
	}
	if t.Did == rules.Expired {
		e.Author = rules.ExpiryAuthor // whoever has removed it then
	}
	switch {
	case t.What == rules.TouchLimit:
		e.Kind = api.LimitChanged
		if t.Did == rules.Ended {
			e.What += " is that of the configuration again"
		}
	case t.Key == rules.Key{} && t.Stored == "":
		e.Zone = "" // of addresses, or the emergency
	case h.keys == nil:
		e.ShownKey = h.shownAs(t.Key, t.Stored)
	}
	e.Endpoint = t.Endpoint
	return e
}

// shownAs returns what operators may see of a key that the rules name.
func (h *Historian) shownAs(name rules.Key, stored string) api.ShownKey {
	ref := KeyRef{name, stored}
	keys, err := ref.resolve(h.zone)
	if err != nil || len(keys) == 0 { // it has become wrong
		text, _ := name.Bytes()
		return api.ShownKey{Shortened: shortened(string(text)), Hash: keytemplate.Hash(string(text)), Missing: name.Missing}
	}
	return shownKey(h.zone, keys[0], h.show)
}

// ofJournal describes what this node has seen.
func (h *Historian) ofJournal(e *journal.Event, node string) api.HistoryEvent {
	event := api.HistoryEvent{Time: e.First.UTC(), Kind: e.Kind, Zone: h.zone.Name, Tier: e.Tier, Node: node}
	if e.Kind != journal.TierSeen {
		event.Times = e.Times
		event.ClientIP, event.Method, event.Path = e.Origin.Client, e.Origin.Method, e.Origin.Path
	}
	if e.Times > 1 {
		until := e.Last.UTC()
		event.Until, event.Times = &until, e.Times
	}
	if h.keys == nil {
		event.ShownKey = shownKey(h.zone, e.Key, h.show)
	}
	event.Endpoint = e.Endpoint
	switch limit := (config.Limit{Events: e.Limit.Events, Window: caddy.Duration(e.Limit.Window), Burst: e.Limit.Burst}); {
	case e.Kind == journal.TierSeen:
		event.What = orNone(e.Before) + " to " + orNone(e.Tier)
	case e.Concurrent > 0:
		event.What = fmt.Sprintf("concurrent %d", e.Concurrent)
	case e.Limit.Events > 0:
		event.What = limit.String()
	default:
		event.What = "block"
	}
	return event
}

func orNone(tier string) string {
	if tier == "" {
		return "no tier"
	}
	return tier
}

// reloadText says what a reload has changed.
func reloadText(r *journal.Reload) string {
	texts := []string{"zone " + r.Change}
	if len(r.Settings) > 0 {
		texts = append(texts, "settings: "+strings.Join(r.Settings, ", "))
	}
	texts = append(texts, r.Limits...)
	if len(r.Reset) > 0 {
		texts = append(texts, "counts reset: "+strings.Join(r.Reset, ", "))
	}
	return strings.Join(texts, "; ")
}
