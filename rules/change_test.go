package rules

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := strictjson.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMerge(t *testing.T) {
	const before = `{"zones":{"user":{"limit":"5/s","tiers":{"pro":"6/s"}}},"emergency":{"limit":"1/s"}}`
	for patch, want := range map[string]string{
		`{}`:                 before,
		`{"emergency":null}`: `{"zones":{"user":{"limit":"5/s","tiers":{"pro":"6/s"}}}}`,
		`{"zones":{"user":{"limit":null,"tiers":{"free":"1/s"}}}}`:                                          `{"zones":{"user":{"tiers":{"free":"1/s","pro":"6/s"}}},"emergency":{"limit":"1/s"}}`,
		`{"zones":null,"emergency":null,"overrides":[{"id":"1","zone":"user","key":"a","multiplier":0.1}]}`: `{"overrides":[{"id":"1","zone":"user","key":"a","multiplier":0.1}]}`,
	} {
		d := parseDocument(t, before)
		got, err := Merge(d, decode(t, patch))
		if err != nil || encode(t, got) != want {
			t.Errorf("%s = %s, %v, want %s", patch, encode(t, got), err, want)
		}
		if encode(t, d) != before {
			t.Errorf("%s changed the document to %s", patch, encode(t, d))
		}
	}
	for patch, want := range map[string]string{
		`[]`:                                  "it is an array: use an object",
		`null`:                                "it is null: use an object",
		`{"zone": {}}`:                        `unknown field "zone": use "zones"`,
		`{"zones": {"user": {"limit": 5}}}`:   "zones.user.limit: it is a number: use a string",
		`{"zones": {"user": {"limits": ""}}}`: `zones.user: unknown field "limits": use "limit"`,
	} {
		if _, err := Merge(parseDocument(t, before), decode(t, patch)); text(err) != want {
			t.Errorf("%s: %v, want %s", patch, err, want)
		}
	}
}

func TestSign(t *testing.T) {
	old := parseDocument(t, `{"overrides":[{"id":"1","zone":"user","key":"a","multiplier":2,"created_by":"alice","created_at":"2026-01-01T00:00:00Z"}]}`)
	before := encode(t, old)
	d := parseDocument(t, `{"overrides":[
		{"id":"1","zone":"user","key":"a","multiplier":3,"created_by":"mallory","created_at":"2020-01-01T00:00:00Z"},
		{"zone":"user","key":"b","multiplier":2,"created_by":"mallory"}],
		"tiers":[{"id":"t","zone":"user","key":"a","tier":"pro"}],"access":[{"action":"deny","address":"192.0.2.1"}],
		"emergency":{"limit":"1/s","started_by":"mallory"}}`)
	d.sign(old, "bob", testNow)
	first, second := d.Overrides[0], d.Overrides[1]
	if first.CreatedBy != "alice" || !first.CreatedAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || first.Multiplier != 3 {
		t.Errorf("the entry that was there = %+v, want it by alice, with the multiplier 3", first)
	}
	if second.CreatedBy != "bob" || !second.CreatedAt.Equal(testNow) || len(second.ID) != 12 {
		t.Errorf("the new entry = %+v, want it by bob at %v with an ID", second, testNow)
	}
	if encode(t, old) != before {
		t.Error("the old document has changed")
	}
	if d.Tiers[0].ID != "t" || d.Tiers[0].CreatedBy != "bob" || d.Access[0].CreatedBy != "bob" || d.Access[0].ID == second.ID {
		t.Errorf("the document = %s, want all of it signed by bob, with different IDs", encode(t, d))
	}
	if got := d.Emergency.StartedBy; got != "bob" {
		t.Errorf("the new emergency is by %s, want bob", got)
	}
	unchanged := parseDocument(t, `{"emergency":{"limit":"1/s"}}`)
	if unchanged.sign(d, "carol", testNow); unchanged.Emergency.StartedBy != "bob" {
		t.Errorf("the emergency that was there is by %s, want bob", unchanged.Emergency.StartedBy)
	}
	changed := parseDocument(t, `{"emergency":{"limit":"2/s"}}`)
	if changed.sign(d, "carol", testNow); changed.Emergency.StartedBy != "carol" {
		t.Errorf("the changed emergency is by %s, want carol", changed.Emergency.StartedBy)
	}
}

func TestDropExpired(t *testing.T) {
	d := parseDocument(t, `{"overrides":[{"id":"1","zone":"user","key":"a","multiplier":2,"expires_at":"2026-05-04T12:00:00Z"},
		{"id":"2","zone":"user","key":"a","multiplier":2,"expires_at":"2026-05-04T12:00:00.001Z"},{"id":"3","zone":"user","key":"b","multiplier":2}],
		"emergency":{"limit":"1/s","expires_at":"2026-05-04T12:00:00Z"}}`)
	c := d.Clone()
	c.dropExpired(testNow)
	if len(c.Overrides) != 2 || c.Overrides[0].ID != "2" || c.Emergency != nil {
		t.Errorf("the document = %s, want the overrides 2 and 3", encode(t, c))
	}
	if len(d.Overrides) != 3 || d.Overrides[0] == nil || d.Overrides[0].ID != "1" || d.Emergency == nil {
		t.Errorf("the original = %s, want it unchanged", encode(t, d))
	}
}

func TestDiff(t *testing.T) {
	from := parseDocument(t, `{"zones":{"user":{"limit":"5/s","tiers":{"pro":"6/s"}},"a.b":{"dry_run":"5%"},"same":{"limit":"1/s"}},
		"overrides":[{"id":"1","zone":"user","key":"a","multiplier":2},{"id":"2","zone":"user","key":"b","limit":"5/s"}],
		"access":[{"id":"x","action":"deny","address":"192.0.2.1"}]}`)
	to := parseDocument(t, `{"zones":{"user":{"limit":"7/s","endpoints":{"/v1":{"limit":"1/s"}}},"same":{"limit":"1/s"}},
		"overrides":[{"id":"2","zone":"user","key":"b","limit":"5/s","reason":"launch"},{"id":"1","zone":"user","key":"a","multiplier":2}],
		"emergency":{"limit":"1/s"}}`)
	want := `[{"path":"zones[\"a.b\"]","from":{"dry_run":"5%"},"to":null},` +
		`{"path":"zones.user.endpoints","from":null,"to":{"/v1":{"limit":"1/s"}}},` +
		`{"path":"zones.user.limit","from":"5/s","to":"7/s"},` +
		`{"path":"zones.user.tiers","from":{"pro":"6/s"},"to":null},` +
		`{"path":"overrides.2.reason","from":null,"to":"launch"},` +
		`{"path":"access.x","from":{"id":"x","action":"deny","address":"192.0.2.1"},"to":null},` +
		`{"path":"emergency","from":null,"to":{"limit":"1/s"}}]`
	got := encode(t, Diff(from, to))
	var gotValue, wantValue any
	_ = json.Unmarshal([]byte(got), &gotValue)
	_ = json.Unmarshal([]byte(want), &wantValue)
	if !reflect.DeepEqual(gotValue, wantValue) {
		t.Errorf("differences:\n got %s\nwant %s", got, want)
	}
	if got := encode(t, Diff(from, from.Clone())); got != "[]" {
		t.Errorf("differences of equal documents = %s, want none", got)
	}
}
