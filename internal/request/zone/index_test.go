package zone

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
)

// The zones that an index leaves out do not apply: they neither limit a request nor refuse it.
func TestIndexLeavesOutZonesThatDoNotApply(t *testing.T) {
	const paths, others = 40, 3
	s := new(Set)
	add := func(settings *config.Zone, matchers ...caddyhttp.MatcherSet) {
		settings.Key, settings.Limit = "all", &config.Limit{Events: 10, Window: 1e9}
		z, err := s.New(fmt.Sprint("zone-", len(s.All())), settings, Options{Matchers: matchers})
		if err != nil {
			t.Fatal(err)
		}
		s.Add(z)
	}
	for i := range paths {
		add(new(config.Zone), caddyhttp.MatcherSet{&caddyhttp.MatchPath{fmt.Sprintf("/a%d/*", i)}})
	}
	add(new(config.Zone), caddyhttp.MatcherSet{&caddyhttp.MatchHost{"a.example"}})
	add(&config.Zone{Endpoints: []*config.Endpoint{{Path: "/x", Cost: &config.Cost{Events: 2}}}},
		caddyhttp.MatcherSet{&caddyhttp.MatchHost{"b.example"}})
	not := &caddyhttp.MatchNot{MatcherSets: caddyhttp.MatcherSets{{&caddyhttp.MatchPath{"/a1/*"}}}}
	add(new(config.Zone), caddyhttp.MatcherSet{not})
	x := NewIndex(s.All())
	if x == nil {
		t.Fatal("there is no index")
	}
	for target, most := range map[string]int{
		"http://c.example/a1/x": 2, "http://a.example/A2/../a2/x": paths + others, "http://b.example/x": 2, "http://c.example/none": 1,
		"http://c.example/a1%2fx": paths + others, "http://c.example/x/..;/a1/x": paths + others, "http://c.example//a3/x": paths + others,
		"http://c.example/a1;x/a3/y": paths + others, "http://\u212a.example/": paths + others,
		"http://a.example./": paths + others, "http://b.example.:80/x": paths + others,
	} {
		r := httptest.NewRequest("GET", target, nil)
		r = r.WithContext(context.WithValue(r.Context(), caddy.ReplacerCtxKey, caddy.NewReplacer()))
		request := &Request{HTTP: r}
		found := x.Append(nil, request)
		if len(found) > most {
			t.Errorf("%s: zones = %d, want at most %d", target, len(found), most)
		}
		if !slices.IsSortedFunc(found, func(a, b *Zone) int { return a.index - b.index }) {
			t.Errorf("%s: the zones are in another order than the handler's", target)
		}
		for _, z := range s.All() {
			var reading Reading
			places, err := z.placesOf(request, z.configured, &reading)
			if applies := err != nil || len(places) > 0 || reading.Refusal != nil; applies && !slices.Contains(found, z) {
				t.Errorf("%s: %s applies and is left out", target, z.Name)
			}
		}
	}
	if NewIndex(s.All()[:manyZones-1]) != nil {
		t.Error("few zones have an index, want none")
	}
}
