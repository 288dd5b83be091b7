package rules

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
)

// TestPatch changes documents at random. A patch, as JSON, changes one document into the next. The
// two share what has not changed.
func TestPatch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	id := 0
	override := func() *Override {
		id++
		return &Override{Entry: Entry{ID: strconv.Itoa(id)}, Limit: "1/1s"}
	}
	from := new(Document)
	for range 2000 {
		to := from.Clone()
		for range random.IntN(3) {
			n := len(to.Overrides)
			switch at := random.IntN(n + 1); {
			case random.IntN(2) == 0:
				to.Overrides = append(to.Overrides[:at:at], append([]*Override{override()}, to.Overrides[at:]...)...)
			case n > at && random.IntN(2) == 0:
				to.Overrides[at] = override()
			case n > at:
				to.Overrides = append(to.Overrides[:at:at], to.Overrides[at+1:]...)
			case n > 1:
				to.Overrides[0], to.Overrides[n-1] = to.Overrides[n-1], to.Overrides[0]
			}
		}
		if len(to.Overrides) == 0 {
			to.Overrides = nil
		}
		text, err := json.Marshal(NewPatch(from, to))
		if err != nil {
			t.Fatal(err)
		}
		var p Patch
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		got, err := p.Apply(from)
		if err != nil || !reflect.DeepEqual(got, to) {
			t.Fatalf("%s\n leads from %s\n to %s, %v\nwant %s", text, encode(t, from), encode(t, got), err, encode(t, to))
		}
		if shared := len(to.Overrides) - p.Entries(); shared > 0 {
			kept := make(map[*Override]bool)
			for _, o := range from.Overrides {
				kept[o] = true
			}
			for _, o := range got.Overrides {
				if kept[o] {
					shared--
				}
			}
			if shared != 0 {
				t.Fatalf("%s shares %d entries less than the documents have in common", text, shared)
			}
		}
		from = to
	}
}

// TestPatchOfMembers has a document that loses and gains one member of each kind.
func TestPatchOfMembers(t *testing.T) {
	from := parseDocument(t, `{"zones":{"user":{"limit":"5/s"},"gone":{"limit":"1/s"},"same":{"limit":"1/s"}},
		"tiers":[{"id":"t","zone":"user","key":"a","tier":"pro"}],"access":[{"id":"x","action":"deny","address":"192.0.2.1"}],
		"emergency":{"limit":"1/s"}}`)
	to := from.Clone()
	delete(to.Zones, "gone")
	to.Zones["user"] = &ZoneChange{Limit: "6/s"}
	to.Tiers, to.Emergency = nil, nil
	to.Access = append(to.Access, &AccessEntry{Entry: Entry{ID: "y"}, Action: Allow, Address: "192.0.2.2"})
	for _, way := range []struct {
		from, to *Document
		want     string
	}{
		{from, to, `{"zones":{"gone":null,"user":{"limit":"6/s"}},"tiers":[{"at":0,"remove":1}],` +
			`"access":[{"at":1,"insert":[{"id":"y","action":"allow","address":"192.0.2.2"}]}],"emergency":{"to":null}}`},
		{new(Document), from, ""},
		{from, new(Document), ""},
		{from, from.Clone(), "{}"},
	} {
		p := NewPatch(way.from, way.to)
		if text := encode(t, p); way.want != "" && text != way.want {
			t.Errorf("the patch = %s\nwant %s", text, way.want)
		}
		got, err := p.Apply(way.from)
		if err != nil || !reflect.DeepEqual(got, way.to) {
			t.Errorf("%s leads to %s, %v\nwant %s", encode(t, p), encode(t, got), err, encode(t, way.to))
		}
	}
}

func TestPatchThatDoesNotFit(t *testing.T) {
	d := &Document{Overrides: []*Override{{}, {}}}
	for _, changes := range [][]Splice[*Override]{
		{{At: -1}}, {{At: 3}}, {{At: 1, Remove: 2}}, {{At: 0, Remove: -1}}, {{At: 1, Remove: 1}, {At: 1}}, {{At: 1 << 62, Remove: 1 << 62}},
	} {
		if got, err := (&Patch{Overrides: changes}).Apply(d); err == nil {
			t.Errorf("%+v leads to %+v, want an error", changes, got)
		}
	}
}

// TestShare has a document that is equal except for one entry.
func TestShare(t *testing.T) {
	const text = `{"zones":{"user":{"limit":"5/s"}},"overrides":[{"id":"1","zone":"user","key":"a","multiplier":2},
		{"id":"2","zone":"user","key":"b","multiplier":2}],"emergency":{"limit":"1/s"}}`
	old, d := parseDocument(t, text), parseDocument(t, text)
	d.Overrides[1].Multiplier = 3
	d.Share(old)
	if d.Zones["user"] != old.Zones["user"] || d.Overrides[0] != old.Overrides[0] || d.Emergency != old.Emergency {
		t.Error("equal parts are not shared")
	}
	if d.Overrides[1].Multiplier != 3 || old.Overrides[1].Multiplier != 2 {
		t.Errorf("the entries that differ = %+v and %+v, want 3 and 2", d.Overrides[1], old.Overrides[1])
	}
}
