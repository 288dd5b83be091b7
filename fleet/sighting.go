package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// A sighting is which differences have been heard of. Nodes take a new configuration one after the other, so a difference is
// news only when it is heard of a second time.
type sighting map[Difference]int // in how many announcements on end

// hear returns what others define otherwise than mine, given the replies of announce.lua, and which of that is news.
func (s sighting) hear(mine map[string]string, replies []any) (now sighting, news []Difference) {
	now = make(sighting)
	for i := 0; i+1 < len(replies); i += 2 {
		node, _ := replies[i].(string)
		says, _ := replies[i+1].(string)
		var theirs map[string]string
		if json.Unmarshal([]byte(says), &theirs) != nil {
			continue // a node of another version
		}
		for zone, digest := range mine {
			if other, found := theirs[zone]; found && other != digest {
				d := Difference{zone, node}
				if now[d] = s[d] + 1; now[d] == 2 {
					news = append(news, d)
				}
			}
		}
	}
	slices.SortFunc(news, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Node, b.Node))
	})
	return now, news
}
