package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// sharedUserZone is a global option with a zone that sites use.
const sharedUserZone = "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 10/1h\n}\n}"

// patch replaces one value of the running configuration, and then moves the sites to new addresses, because
// requests to the old addresses may still reach the servers of the old configuration.
func (g *gateway) patch(path, value string) error {
	g.t.Helper()
	if err := g.sendPatch(path, value); err != nil {
		return err
	}
	g.addr, g.second = redistest.FreeAddr(), redistest.FreeAddr()
	for server, addr := range map[string]string{"srv0": g.addr, "srv1": g.second} {
		if err := g.sendPatch("apps/http/servers/"+server+"/listen", `["`+addr+`"]`); err != nil {
			g.t.Fatal(err)
		}
	}
	return nil
}

func (g *gateway) sendPatch(path, value string) error {
	return g.change(http.MethodPatch, "/config/"+path, value, http.Header{"Content-Type": {"application/json"}})
}

func TestPatchChangesZoneOfAllSites(t *testing.T) {
	const site, limit = "rate_limit {\nzone user\n}\nrespond hello", "apps/rate_limit/zones/user/limit"
	g := newGateway(t)
	g.mustLoad(g.caddyfile(sharedUserZone, site, site))
	both := func(limit, left int) {
		t.Helper()
		for i, addr := range []string{g.addr, g.second} {
			g.requestAt(addr, "GET", "/", alice).admitted(left-i).has("X-RateLimit-Limit", fmt.Sprint(limit))
		}
	}
	both(10, 9)
	left := 10 - 2
	for _, patch := range []struct {
		path, value string
		limit       int
	}{
		{limit, `"20/1h"`, 20},
		{limit, `{"events": 30, "window": "1h"}`, 30},
		{limit + "/events", `40`, 40},
	} {
		if err := g.patch(patch.path, patch.value); err != nil {
			t.Fatalf("PATCH of %s to %s: %v", patch.path, patch.value, err)
		}
		left += 10
		both(patch.limit, left-1)
		left -= 2
	}

	for value, want := range map[string]string{
		`100`:                        "use a rate such as",
		`"100"`:                      "is not a rate",
		`{"event": 1}`:               `unknown field \"event\": use \"events\"`,
		`{"events": 1, "window": 1}`: "use a text with a unit",
		`{"events": 0}`:              `use block to reject every request, at Caddyfile:`,
	} {
		if err := g.patch(limit, value); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "user") {
			t.Errorf("PATCH to %s: %v, want an error with %q and the zone", value, err, want)
		}
	}
	both(40, left-1)
	if err := g.patch(limit, `"block"`); err != nil {
		t.Fatal(err)
	}
	g.get("/", alice).rejected()
	g.requestAt(g.second, "GET", "/", alice).rejected()
}

// The matchers of a site replace those of the zone.
func TestSitesSelectRequestsOfSharedZone(t *testing.T) {
	g := newGateway(t)
	g.mustLoad(g.caddyfile(strings.Replace(sharedUserZone, "key", "match {\nmethod GET\n}\nkey", 1),
		"rate_limit {\nzone user\n}\nrespond hello",
		"@api path /api\nrate_limit {\nzone user {\nmatch @api\n}\n}\nrespond hello"))
	g.get("/", alice).admitted(9)
	g.request("POST", "/api", alice).is(200).lacks("X-RateLimit-Limit")
	g.requestAt(g.second, "GET", "/", alice).is(200).lacks("X-RateLimit-Limit")
	g.requestAt(g.second, "POST", "/api", alice).admitted(8)
}

func TestWarnsAboutUnusedZone(t *testing.T) {
	g := serveWith(t, sharedUserZone, "respond hello")
	unused := g.logged("no site uses the zone")
	if len(unused) != 1 || unused[0]["zone"] != "user" || !strings.HasPrefix(fmt.Sprint(unused[0]["place"]), "Caddyfile:") {
		t.Errorf("warnings about zones without a site = %v, want one with the zone and its place", unused)
	}
	g.reload("respond bye") // without the zone
	if again := g.logged("no site uses the zone"); len(again) != len(unused) {
		t.Errorf("warnings after the zone was removed = %v, want no more", again)
	}
}
