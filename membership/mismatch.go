package membership

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// digests returns a digest of each definition, by zone.
func digests(zones map[string]string) map[string]string {
	d := make(map[string]string, len(zones))
	for name, definition := range zones {
		sum := sha256.Sum256([]byte(definition))
		d[name] = hex.EncodeToString(sum[:8])
	}
	return d
}

// mismatches are the different definitions that other nodes announce, each with the number of
// announcements in a row that found it. Nodes adopt a new configuration one after the other, so a
// mismatch is news only when it is found a second time.
type mismatches map[definition]int

// A definition is how another node defines a zone.
type definition struct{ zone, digest string }

// update returns the mismatches after an announcement, and those that are news. own are the digests
// of this node. others are the announcements of other nodes, each with the name of one.
func (s mismatches) update(own, others map[string]string) (now mismatches, news []Mismatch) {
	now = make(mismatches)
	for _, text := range slices.Sorted(maps.Keys(others)) {
		var theirs map[string]string
		if json.Unmarshal([]byte(text), &theirs) != nil {
			continue // a node of another version
		}
		for zone, digest := range own {
			d := definition{zone, theirs[zone]}
			if d.digest == "" || d.digest == digest || now[d] > 0 {
				continue
			}
			if now[d] = s[d] + 1; now[d] == 2 {
				news = append(news, Mismatch{zone, others[text]})
			}
		}
	}
	slices.SortFunc(news, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Node, b.Node))
	})
	return now, news
}
