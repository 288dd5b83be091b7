package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// A testSchema has the zones user, with tiers and endpoints, and all, in which all requests have
// one key. Limits are numbers, unlimited or block.
type testSchema struct{}

func (testSchema) Zones() []string { return []string{"all", "user"} }

func (testSchema) Tiers(zone string) []string {
	return map[string][]string{"user": {"free", "pro"}}[zone]
}

func (testSchema) Endpoints(zone string) []string {
	return map[string][]string{"user": {"POST /v1/search*", "/v1/items"}}[zone]
}

func (testSchema) Limit(zone, endpoint, tier, text string) error {
	if !strings.Contains(text, "/") && text != "block" && text != "unlimited" {
		return fmt.Errorf("%q at %q of %q and %q is not a rate: use 100/1m", text, endpoint, zone, tier)
	}
	return nil
}

func (s testSchema) Overrides(zone string, changes *ZoneChange) func(*Override) error {
	return func(o *Override) error {
		if o.Limit != "" {
			return s.Limit(zone, o.Endpoint, "", o.Limit)
		}
		if changes != nil && changes.Limit == "1000000000000/1m" && o.Multiplier > 1 {
			return errors.New("the limit is too high: use a smaller multiplier")
		}
		return nil
	}
}

func (testSchema) EmergencyLimit(text string) error {
	if text == "block" {
		return errors.New("block is no limit for each address: use a rate such as 1/1m")
	}
	return nil
}

func (testSchema) DryRun(text string) error {
	if !strings.HasSuffix(text, "%") {
		return fmt.Errorf("%q is not a percentage: use 10%%", text)
	}
	return nil
}

func (testSchema) Compare(zone string, with *Comparison) error {
	if *with == (Comparison{}) {
		return fmt.Errorf("%q has nothing to compare with: use a limit", zone)
	}
	return nil
}

func (testSchema) Key(k Key) (shared bool, err error) {
	if k.Zone == "user" && k.Text == "" && k.Base64 == "" {
		return false, errors.New("it is empty: use the text of the key")
	}
	return k.Zone == "all", nil
}

// Canonical makes keys of the zone "user" lower case.
func (testSchema) Canonical(k Key) Key {
	if k.Zone == "user" {
		k.Text = strings.ToLower(k.Text)
	}
	return k
}

var testNow = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func parseDocument(t *testing.T, text string) *Document {
	t.Helper()
	d := new(Document)
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct{ document, want string }{
		{`{}`, ""},
		{`{"zones": {"user": {}}}`, ""},
		{`{"zones": {"user": {"limit": "1/s", "tiers": {"pro": "2/s", "free": "block"}, "dry_run": "10%",
			"compare": {"keys": "10%", "limit": "1/s", "algorithm": "fixed_window"},
			"endpoints": {"POST /v1/search*": {"limit": "1/s", "tiers": {"pro": "unlimited"}}, "/v1/items": {}}}}}`, ""},
		{`{"zones": {"usr": {"limit": "1/s"}}}`, `zones.usr: there is no zone "usr": use "user"`},
		{`{"zones": {"a.b": {"limit": "1/s"}}}`, `zones["a.b"]: there is no zone "a.b": use one of "all", "user"`},
		{`{"zones": {"user": null}}`, `zones.user: it is null: use an object, or leave the zone out`},
		{`{"zones": {"user": {"limit": "5"}}}`, `zones.user.limit: "5" at "" of "user" and "" is not a rate: use 100/1m`},
		{`{"zones": {"user": {"tiers": {"gold": "5/s"}}}}`, `zones.user.tiers.gold: there is no tier "gold": use one of "free", "pro"`},
		{`{"zones": {"all": {"tiers": {"gold": "5/s"}}}}`, `zones.all.tiers.gold: there is no tier "gold": use a configuration that has it`},
		{`{"zones": {"user": {"tiers": {"pro": ""}}}}`, `zones.user.tiers.pro: the limit is empty: use one such as 100/1m, or leave the tier out`},
		{`{"zones": {"user": {"tiers": {"pro": "x"}}}}`, `zones.user.tiers.pro: "x" at "" of "user" and "pro" is not a rate: use 100/1m`},
		{`{"zones": {"user": {"endpoints": {"/v1/search*": {}}}}}`,
			`zones.user.endpoints["/v1/search*"]: there is no endpoint "/v1/search*": use "POST /v1/search*"`},
		{`{"zones": {"user": {"endpoints": {"/v1/items": null}}}}`,
			`zones.user.endpoints["/v1/items"]: it is null: use an object, or leave the endpoint out`},
		{`{"zones": {"user": {"endpoints": {"/v1/items": {"limit": "x", "tiers": {"prO": "1/s", "pro": "y"}}}}}}`,
			`zones.user.endpoints["/v1/items"].limit: "x" at "/v1/items" of "user" and "" is not a rate: use 100/1m; ` +
				`zones.user.endpoints["/v1/items"].tiers.prO: there is no tier "prO": use "pro"; ` +
				`zones.user.endpoints["/v1/items"].tiers.pro: "y" at "/v1/items" of "user" and "pro" is not a rate: use 100/1m`},
		{`{"zones": {"user": {"dry_run": "0.5"}}}`, `zones.user.dry_run: "0.5" is not a percentage: use 10%`},
		{`{"zones": {"user": {"compare": {}}}}`, `zones.user.compare: "user" has nothing to compare with: use a limit`},

		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "limit": "5/s"},
			{"id": "2", "zone": "user", "key": "a", "endpoint": "/v1/items", "multiplier": 1e6},
			{"id": "3", "zone": "user", "key": "a", "missing": true, "limit": "block", "expires_at": "2026-05-04T12:00:01Z"},
			{"id": "4", "zone": "all", "multiplier": 0.001}]}`, ""},
		{`{"overrides": [null]}`, `overrides[0]: it is null: use an object, or leave it out`},
		{`{"overrides": [{"zone": "user", "key": "a", "limit": "5/s"}]}`,
			`overrides[0].id: "" is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -`},
		{`{"overrides": [{"id": "a/b", "zone": "user", "key": "a", "limit": "5/s"}]}`,
			`overrides[0].id: "a/b" is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -`},
		{`{"overrides": [{"id": "..", "zone": "user", "key": "a", "limit": "5/s"}]}`,
			`overrides[0].id: ".." is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "limit": "5/s"}, {"id": "1", "zone": "user", "key": "b", "limit": "5/s"}]}`,
			`overrides[1].id: overrides[0] has the id "1", too: use another one`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "limit": "5/s"}, {"id": "2", "zone": "user", "key_base64": "YQ==", "limit": "6/s"}]}`,
			`overrides[1]: overrides[0] is about the same: use only one of them, and change or delete that`},
		{`{"overrides": [{"id": "1", "key": "a", "limit": "5/s"}]}`, `overrides[0].zone: the zone is missing: use one of "all", "user"`},
		{`{"overrides": [{"id": "1", "zone": "user", "limit": "5/s"}]}`, `overrides[0].key: it is empty: use the text of the key`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "key_base64": "YQ==", "limit": "5/s"}]}`,
			`overrides[0].key: there are both key and key_base64: use one of them`},
		{`{"overrides": [{"id": "1", "zone": "user", "key_base64": "?", "limit": "5/s"}]}`,
			`overrides[0].key: key_base64 is not base64: use its standard alphabet with padding, or key for text`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "` + strings.Repeat("x", MaxKey+1) + `", "limit": "5/s"}]}`,
			`overrides[0].key: it has 16385 bytes: use at most 16384`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "endpoint": "/v1/item", "limit": "5/s"}]}`,
			`overrides[0].endpoint: there is no endpoint "/v1/item": use "/v1/items"`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "limit": "5"}]}`,
			`overrides[0].limit: "5" at "" of "user" and "" is not a rate: use 100/1m`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "limit": "5/s", "multiplier": 2}]}`,
			`overrides[0]: there are both limit and multiplier: use one of them`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a"}]}`,
			`overrides[0]: there is neither limit nor multiplier nor concurrent: use one such as "limit": "5000/1m" or "multiplier": 5; ` +
				`the limit block rejects all requests of the key`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "multiplier": -1}]}`,
			`overrides[0].multiplier: it is -1: use a number above 0, and at most 1000000`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "multiplier": 1000001}]}`,
			`overrides[0].multiplier: it is 1.000001e+06: use a number above 0, and at most 1000000`},
		{`{"zones": {"user": {"limit": "1000000000000/1m"}}, "overrides": [
			{"id": "1", "zone": "user", "key": "a", "multiplier": 0.5}, {"id": "2", "zone": "user", "key": "b", "multiplier": 2}]}`,
			`overrides[1].multiplier: the limit is too high: use a smaller multiplier`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "multiplier": 2, "expires_at": "2026-05-04T12:00:00Z"}]}`,
			`overrides[0].expires_at: 2026-05-04T12:00:00Z has passed: use a later instant`},
		{`{"overrides": [{"id": "1", "zone": "user", "key": "a", "multiplier": 2, "reason": "` + strings.Repeat("x", MaxReason+1) + `"}]}`,
			`overrides[0].reason: it has 1001 bytes: use at most 1000`},

		{`{"tiers": [{"id": "1", "zone": "user", "key": "a", "tier": "pro"}, {"id": "2", "zone": "user", "key": "b", "tier": "pro"}]}`, ""},
		{`{"tiers": [{"id": "1", "zone": "user", "key": "a", "tier": "Pro"}]}`, `tiers[0].tier: there is no tier "Pro": use "pro"`},
		{`{"tiers": [{"id": "1", "zone": "user", "key": "a"}]}`, `tiers[0].tier: the tier is missing: use one of "free", "pro"`},
		{`{"tiers": [{"id": "1", "zone": "user", "key": "a", "tier": "pro"}, {"id": "2", "zone": "user", "key": "a", "tier": "free"}]}`,
			`tiers[1]: tiers[0] is about the same: use only one of them, and change or delete that`},

		{`{"access": [{"id": "1", "action": "deny", "address": "192.0.2.0/24"}, {"id": "2", "action": "allow", "zone": "user", "key": "a"},
			{"id": "3", "action": "allow", "zone": "all"}, {"id": "4", "action": "deny", "zone": "all", "key": "x", "missing": true},
			{"id": "5", "action": "deny", "address": "::/1"}]}`,
			`access[3]: all requests of zone "all" have this key, so it rejects all of them: use the limit block in the zone`},
		{`{"access": [{"id": "1", "action": "dney", "address": "192.0.2.1"}]}`, `access[0].action: there is no action "dney": use "deny"`},
		{`{"access": [{"id": "1", "action": "deny", "address": "192.0.2.1/24"}]}`,
			`access[0].address: "192.0.2.1/24" has bits beyond its prefix: use the range 192.0.2.0/24 or the address 192.0.2.1`},
		{`{"access": [{"id": "1", "action": "deny"}]}`,
			`access[0]: there is neither a key nor an address: use "zone" and "key", or "address"`},
		{`{"access": [{"id": "1", "action": "deny", "zone": "user", "key": "a", "address": "192.0.2.1"}]}`,
			`access[0]: there are both a key and an address: use one entry for each`},
		{`{"access": [{"id": "1", "action": "allow", "address": "192.0.2.1"}, {"id": "2", "action": "deny", "address": "::ffff:192.0.2.1/128"}]}`,
			`access[1]: access[0] is about the same: use only one of them, and change or delete that`},
		{`{"access": [{"id": "1", "action": "deny", "address": "0.0.0.0/0"}]}`,
			`access: the entries deny all addresses of 0.0.0.0/0: use narrower ranges, or the limit block in zones, which rejects all requests`},
		{`{"access": [{"id": "1", "action": "deny", "address": "0.0.0.0/1"}, {"id": "2", "action": "deny", "address": "192.0.0.0/2"},
			{"id": "3", "action": "deny", "address": "128.0.0.0/2"}]}`,
			`access: the entries deny all addresses of 0.0.0.0/0: use narrower ranges, or the limit block in zones, which rejects all requests`},
		{`{"access": [{"id": "1", "action": "deny", "address": "::/1"}, {"id": "2", "action": "deny", "address": "8000::/1"}]}`,
			`access: the entries deny all addresses of ::/0: use narrower ranges, or the limit block in zones, which rejects all requests`},
		{`{"access": [{"id": "1", "action": "allow", "address": "0.0.0.0/0"}]}`, ""},

		{`{"emergency": {"limit": "10/s", "expires_at": "2026-05-05T12:00:00Z"}}`, ""},
		{`{"emergency": {"limit": "10/s"}}`,
			`emergency.expires_at: it is missing: use an instant in the next 24 hours, at which the emergency ends`},
		{`{"emergency": {"limit": "block", "expires_at": "2026-05-04T12:15:00Z"}}`,
			`emergency.limit: block is no limit for each address: use a rate such as 1/1m`},
		{`{"emergency": {"expires_at": "2026-05-04T11:15:00Z"}}`,
			`emergency.limit: the limit is missing: use one for each client address, such as 10/1s; ` +
				`emergency.expires_at: 2026-05-04T11:15:00Z has passed: use a later instant`},
		{`{"emergency": {"limit": "10/s", "expires_at": "2026-05-05T12:00:01Z"}}`,
			`emergency.expires_at: it is too far away: use an instant in the next 24 hours, and prolong the emergency by another ` +
				`change, or use a zone for a lasting limit`},
	} {
		document := parseDocument(t, tc.document)
		err := Validate(document, nil, testSchema{}, testNow)
		if got := text(err); got != tc.want {
			t.Errorf("%.200s:\n got %s\nwant %s", tc.document, got, tc.want)
		}
		if strings.Contains(tc.want, "it is null") || strings.Contains(tc.want, "has the id") {
			continue // no document ever has these
		}
		if err := Validate(parseDocument(t, tc.document), document, testSchema{}, testNow); err != nil {
			t.Errorf("%.200s: %v, though an equal document is there", tc.document, err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestValidateNaN(t *testing.T) {
	for _, m := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		document := &Document{Overrides: []*Override{{Entry: Entry{ID: "1"}, Key: Key{Zone: "user", Text: "a"}, Multiplier: m}}}
		if err := Validate(document, nil, testSchema{}, testNow); err == nil {
			t.Errorf("multiplier %v is valid", m)
		}
	}
}

// A document that was valid once does not prevent changes. What is new in it is checked.
func TestValidateChange(t *testing.T) {
	const old = `{"zones": {"gone": {"limit": "5"}},
		"overrides": [{"id": "1", "zone": "gone", "key": "a", "limit": "5/s"},
			{"id": "2", "zone": "user", "key": "b", "limit": "5/s", "expires_at": "2026-05-04T11:59:59Z"}],
		"emergency": {"limit": "10/s", "expires_at": "2026-05-04T11:59:59Z"}}`
	check := func(change func(*Document), want string) {
		t.Helper()
		document := parseDocument(t, old)
		change(document)
		if got := text(Validate(document, parseDocument(t, old), testSchema{}, testNow)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	override := func(id, key string) *Override {
		return &Override{Entry: Entry{ID: id}, Key: Key{Zone: "user", Text: key}, Limit: "6/s"}
	}
	check(func(d *Document) { d.Overrides = slices.Insert(d.Overrides, 0, override("3", "a")) }, "")
	check(func(d *Document) { d.Overrides = append(d.Overrides, override("3", "b")) }, "") // in place of the expired one
	check(func(d *Document) { d.Overrides = nil }, "")
	check(func(d *Document) { d.Overrides[0].Reason = "x" }, `overrides[0].zone: there is no zone "gone": use one of "all", "user"`)
	check(func(d *Document) { d.Overrides[1].Reason = "x" },
		"overrides[1].expires_at: 2026-05-04T11:59:59Z has passed: use a later instant")
	check(func(d *Document) { d.Zones["gone"].Limit = "6" }, `zones.gone: there is no zone "gone": use one of "all", "user"`)
	check(func(d *Document) { d.Emergency.Limit = "11/s" },
		"emergency.expires_at: 2026-05-04T11:59:59Z has passed: use a later instant")
	check(func(d *Document) { d.Overrides = append(d.Overrides, override("2", "c")) },
		`overrides[2].id: overrides[1] has the id "2", too: use another one`)
}

func TestValidateReportsSomeProblems(t *testing.T) {
	document := new(Document)
	for range 100 {
		document.Access = append(document.Access, &AccessEntry{Action: "x"})
	}
	var invalid *InvalidError
	if err := Validate(document, nil, testSchema{}, testNow); !errors.As(err, &invalid) || len(invalid.Problems) != maxProblems {
		t.Errorf("error = %v, want one with %d problems", err, maxProblems)
	}
	document.Access = make([]*AccessEntry, MaxEntries+1)
	want := "access: there are 200001 entries: use at most 200000"
	if got := text(Validate(document, nil, testSchema{}, testNow)); got != want {
		t.Errorf("error = %s, want %s", got, want)
	}
}
