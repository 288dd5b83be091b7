package membership

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// A Definition is how a node defines a zone: the settings by name. Nodes that have the same setting
// have the same text for it.
type Definition map[string]string

// A Mismatch is a zone that other nodes define differently. One without settings is a zone that no
// other node defines differently any more.
type Mismatch struct {
	Zone     string
	Node     string   // one of the others
	Settings []string // those that differ, in order
	Nodes    int      // how many nodes define it so
}

// digests returns a digest of each setting, by zone.
func digests(zones map[string]Definition) map[string]Definition {
	all := make(map[string]Definition, len(zones))
	for name, definition := range zones {
		d := make(Definition, len(definition))
		for setting, text := range definition {
			sum := sha256.Sum256([]byte(text))
			d[setting] = hex.EncodeToString(sum[:6])
		}
		all[name] = d
	}
	return all
}

// Differences returns the settings that d and other do not both have with the same text.
func (d Definition) Differences(other Definition) (settings []string) {
	for name, text := range d {
		if theirs, found := other[name]; !found || theirs != text {
			settings = append(settings, name)
		}
	}
	for name := range other {
		if _, found := d[name]; !found {
			settings = append(settings, name)
		}
	}
	slices.Sort(settings)
	return settings
}

// mismatches are what the announcements found until now. The zero value has found nothing.
type mismatches struct {
	// found are the definitions that differ, each with the number of announcements in a row that
	// found it. Nodes adopt a new configuration one after the other, so a difference counts only when
	// it is found a second time.
	found map[difference]int

	reported map[string]bool // the zones whose mismatches were reported, and are not gone
}

// A difference is how another node defines a zone.
type difference struct{ zone, definition string }

// update returns the mismatches after an announcement, and those among them that count. news are
// what is to be reported. own are the digests of this node. others are the announcements of other
// nodes.
func (m mismatches) update(own map[string]Definition, others map[string]announcers) (now mismatches, all, news []Mismatch) {
	now = mismatches{make(map[difference]int), make(map[string]bool)}
	for d, mismatch := range differences(own, others) {
		now.found[d] = m.found[d] + 1
		if now.found[d] > 1 {
			all = append(all, mismatch)
		}
		if now.found[d] == 2 {
			news = append(news, mismatch)
		}
		if now.found[d] > 1 || m.reported[d.zone] {
			now.reported[d.zone] = true
		}
	}
	for zone := range m.reported {
		if !now.reported[zone] {
			news = append(news, Mismatch{Zone: zone})
		}
	}
	sortMismatches(all)
	sortMismatches(news)
	return now, all, news
}

// differences returns how the announcements of other nodes define the zones of this one differently.
func differences(own map[string]Definition, others map[string]announcers) map[difference]Mismatch {
	all := make(map[difference]Mismatch)
	for _, text := range slices.Sorted(maps.Keys(others)) {
		var theirs map[string]Definition
		if json.Unmarshal([]byte(text), &theirs) != nil {
			continue // a node of another version
		}
		for zone, definition := range own {
			other := theirs[zone]
			settings := definition.Differences(other)
			if other == nil || len(settings) == 0 {
				continue
			}
			encoded, _ := json.Marshal(other) // which cannot fail
			d := difference{zone, string(encoded)}
			mismatch, found := all[d]
			if !found {
				mismatch = Mismatch{Zone: zone, Node: others[text].node, Settings: settings}
			}
			mismatch.Nodes += others[text].nodes
			all[d] = mismatch
		}
	}
	return all
}

func sortMismatches(all []Mismatch) {
	slices.SortFunc(all, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Node, b.Node))
	})
}
