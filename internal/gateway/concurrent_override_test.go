package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// TestConcurrentOverrides sends requests of keys with overrides. All admitted requests stay in
// flight. It checks how many are admitted at each path.
func TestConcurrentOverrides(t *testing.T) {
	const (
		both  = `"concurrent": 2, "limit": "1000/1h", "endpoints": [{"path": "/own", "concurrent": 1}, {"path": "/rate", "limit": "900/1h"}]`
		rates = `"limit": "1000/1h", "endpoints": [{"path": "/own", "concurrent": 1}, {"path": "/rate", "limit": "900/1h"}]`
	)
	for i, test := range []struct {
		zone, override  string
		rest, own, rate int // admitted of 10 requests, path after path; /rate shares the count of the rest
	}{
		{both, `"concurrent": 4`, 4, 4, 0},
		{both, `"concurrent": 4, "limit": "3/1h"`, 3, 0, 1}, // each rate allows 3
		{both, `"limit": "1/1h"`, 1, 0, 1},
		{both, `"concurrent": 4, "endpoint": "/own"`, 2, 4, 0},
		{both, `"concurrent": 4, "endpoint": "/rate"`, 2, 1, 4}, // the endpoint gets a count of its own
		{both, `"concurrent": 3, "limit": "block"`, 0, 0, 0},
		{both, `"concurrent": 1, "multiplier": 2`, 1, 1, 0},
		{rates, `"concurrent": 3`, 3, 3, 0}, // the zone gets one count
		{rates, `"concurrent": 3, "endpoint": "/rate"`, 10, 1, 3},
	} {
		name := fmt.Sprintf("concurrent-override-%d", i)
		h := provisioned(t, keyed(name, test.zone))
		h.app.rulesInForce()
		putRules(t, h, `{"overrides": [{"id": "1", "zone": "`+name+`", "key": "a", `+test.override+`}]}`)
		for _, of := range []struct {
			path string
			want int
		}{{"/", test.rest}, {"/own", test.own}, {"/rate", test.rate}} {
			got := 0
			for range 10 {
				if fly(t, h, "a", of.path).status() == 0 {
					got++
				}
			}
			if got != of.want {
				t.Errorf("override {%s}: %d of 10 requests to %s are in flight, want %d", test.override, got, of.path, of.want)
			}
		}
		if f := fly(t, h, "b", "/own"); f.status() != 0 {
			t.Errorf("override {%s}: the request of another key = %d, want it in flight", test.override, f.status())
		} else if f := fly(t, h, "b", "/own"); f.status() != 429 {
			t.Errorf("override {%s}: the second request of another key = %d, want 429", test.override, f.status())
		}
	}
}

// TestConcurrentOverrideEnds has an override of an endpoint beside one of the zone, and ends both
// while requests are in flight.
func TestConcurrentOverrideEnds(t *testing.T) {
	h := provisioned(t, keyed("concurrent-override-ends", `"concurrent": 1`))
	h.app.rulesInForce()
	fly(t, h, "a", "/")
	putRules(t, h, `{"overrides": [{"id": "1", "zone": "concurrent-override-ends", "key": "a", "concurrent": 2}]}`)
	second := fly(t, h, "a", "/")
	if third := fly(t, h, "a", "/"); second.status() != 0 || third.status() != 429 {
		t.Errorf("requests with the override = %d, %d, want one more in flight and 429", second.status(), third.status())
	}
	putRules(t, h, `{}`)
	second.end(answerOK)
	if f := fly(t, h, "a", "/"); f.status() != 429 {
		t.Errorf("request after the override = %d, want 429", f.status())
	}
}

// TestWrongConcurrentOverrides writes overrides that are refused.
func TestWrongConcurrentOverrides(t *testing.T) {
	h := provisioned(t, keyed("concurrent-override-wrong", `"limit": "100/1h", "endpoints": [{"path": "/x", "cost": 2}]`))
	for _, test := range []struct{ override, want string }{
		{`"concurrent": 5`, ""},
		{`"concurrent": 5, "endpoint": "/x"`, ""},
		{`"concurrent": 5, "multiplier": 2`, ""},
		{`"concurrent": 5, "multiplier": 2, "endpoint": "/x"`, "endpoint /x has no limit of its own"},
		{`"concurrent": -1`, "overrides[0].concurrent: concurrent is -1: use 1 to 1000000000"},
		{`"concurrent": 2000000000, "limit": "5/1h"`, "concurrent is 2000000000: use 1 to 1000000000"},
		{`"concurrent": 0`, "there is neither limit nor multiplier nor concurrent"},
	} {
		err := h.validate(t, `{"overrides": [{"id": "1", "zone": "concurrent-override-wrong", "key": "a", `+test.override+`}]}`)
		if got := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("override {%s}: error = %v, want %q", test.override, err, test.want)
		}
	}
}
