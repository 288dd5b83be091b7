package membership

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// digests returns what a node says about its zones: a digest of each definition.
func digests(zones map[string]string) map[string]string {
	d := make(map[string]string, len(zones))
	for name, definition := range zones {
		sum := sha256.Sum256([]byte(definition))
		d[name] = hex.EncodeToString(sum[:8])
	}
	return d
}

// encode returns digests as text; the same digests are the same text.
func encode(digests map[string]string) string {
	text, err := json.Marshal(digests)
	if err != nil {
		panic(err) // strings can be marshalled
	}
	return string(text)
}

// A mismatches is which other definitions have been heard of. Nodes take a new configuration one after the other, so one is
// news only when it is heard of a second time.
type mismatches map[definition]int // in how many announcements on end

// definition is how a zone is defined elsewhere.
type definition struct{ zone, digest string }

// hear returns what others define otherwise than mine, given all that is said and by whom, and which of that is news.
func (s mismatches) hear(mine, others map[string]string) (now mismatches, news []Mismatch) {
	now = make(mismatches)
	for _, says := range slices.Sorted(maps.Keys(others)) {
		var theirs map[string]string
		if json.Unmarshal([]byte(says), &theirs) != nil {
			continue // a node of another version
		}
		for zone, digest := range mine {
			d := definition{zone, theirs[zone]}
			if d.digest == "" || d.digest == digest || now[d] > 0 {
				continue
			}
			if now[d] = s[d] + 1; now[d] == 2 {
				news = append(news, Mismatch{zone, others[says]})
			}
		}
	}
	slices.SortFunc(news, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Node, b.Node))
	})
	return now, news
}
