package membership

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// A Definition has the settings of a zone on one node, by their names. Nodes with equal settings have
// equal texts.
type Definition map[string]string

// A Mismatch is a zone that other nodes define differently. If Settings is empty, no other node defines
// the zone differently any more.
type Mismatch struct {
	Zone     string
	Node     string   // one of the other nodes
	Settings []string // names of the settings that differ, in order
	Nodes    int      // number of other nodes with the definition of Node
}

// digests returns the zones with the digest of each setting in place of its text.
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

// Differences returns the names of the settings that are not in both definitions with equal texts.
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

// mismatches are what announcements have found so far. The zero value is empty.
type mismatches struct {
	// found has, for each difference, the number of consecutive announcements that found it. Nodes
	// adopt a new configuration one after the other, so a difference counts as a mismatch only when an
	// announcement finds it again.
	found map[difference]int

	reported map[string]bool // zones with a reported mismatch that has not gone
}

// A difference is a zone, and its definition by another node.
type difference struct{ zone, definition string }

// update returns the mismatches after an announcement: all that count, and the news that the caller
// must report. own are the digests of this node. others are the announcements of other nodes.
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

// differences returns the zones of this node that other nodes define differently in their
// announcements.
func differences(own map[string]Definition, others map[string]announcers) map[difference]Mismatch {
	all := make(map[difference]Mismatch)
	for _, text := range slices.Sorted(maps.Keys(others)) {
		var theirs map[string]Definition
		if json.Unmarshal([]byte(text), &theirs) != nil {
			continue // from a node of another version
		}
		for zone, definition := range own {
			other := theirs[zone]
			settings := definition.Differences(other)
			if other == nil || len(settings) == 0 {
				continue
			}
			encoded, _ := json.Marshal(other) // Marshal cannot fail
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
