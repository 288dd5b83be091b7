package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// The numbers that the page must show at once.
const (
	manyNodes     = 200
	manyZones     = 50
	manyOverrides = 100_000
)

// manyZonesSite returns a site with the page before many zones.
func manyZonesSite() string {
	var b strings.Builder
	b.WriteString("route {\nrate_limit_page\nrate_limit {\nlog_key\n")
	for i := range manyZones {
		fmt.Fprintf(&b, "zone zone%02d {\nkey {http.request.header.X-Api-Key}\nlimit %d/1h\n}\n", i, 10+i)
	}
	b.WriteString("}\n}")
	return b.String()
}

// joinFleet adds members to the fleet of a Redis, which announce themselves and do nothing else.
// One of them defines a zone differently.
func joinFleet(t *testing.T, redis *redistest.Server, members int) {
	client := redisconn.New(redisconn.Options{Addresses: []string{redis.Addr}, Timeout: 5 * time.Second})
	t.Cleanup(client.Close)
	for i := range members {
		m := membership.Join(client, "rl", func(membership.Mismatch) {})
		t.Cleanup(m.Leave)
		zones := map[string]membership.Definition{"elsewhere": {"limit": "1/1h"}}
		if i == 0 {
			zones = map[string]membership.Definition{"zone07": {"limit": "1/1h"}}
		}
		m.Define(t, zones, 0, nil)
	}
}

// putOverrides writes count overrides by one request.
func putOverrides(n *nodetest.Node, count int) {
	var body strings.Builder
	body.WriteString(`{"overrides":[`)
	for i := range count {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"id":"o%d","zone":"zone%02d","key":"k%d","limit":"9/1h"}`, i, i%manyZones, i)
	}
	body.WriteString(`]}`)
	n.Client.Timeout = time.Minute // the node reads, checks and writes 100,000 overrides in seconds of processor time
	n.MustAsk(http.MethodPut, "rules", body.String())
}

// The page works with many nodes, zones and overrides: the server sorts and pages, and the page
// shows the worst first. The whole first view takes less than 100 kB.
func TestMany(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	joinFleet(t, redis, manyNodes-1)
	n := nodetest.StartAll(t, 1, redisOptions(redis), manyZonesSite())[0]
	putOverrides(n, manyOverrides)
	for range 60 { // the limits of the zones are 10 to 59
		if _, _, err := n.Get("/", "X-Api-Key: k"); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, newBrowser(t), "http://"+n.Addr+"/rate_limit/")
	b.awaitLive()
	b.await("a row of each zone", fmt.Sprintf(`document.querySelectorAll("#app main tbody tr").length >= %d`, manyZones))
	b.awaitText(".health", fmt.Sprint(manyNodes))
	const sent = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((n, e) => n + e.transferSize, 0)`
	if bytes := b.eval(sent).(float64); bytes < 10_000 || bytes > 100_000 {
		t.Errorf("bytes of the first view = %v, want 10,000 to 100,000", bytes)
	}
	b.fill(".bar", "Filter", "zone4")
	b.await("the ten zones of the filter", `document.querySelectorAll("#app main section tbody tr").length === 10`)

	b.choose("Overrides")
	b.awaitText(".tabs button", "100,000")
	b.await("one page of overrides", `document.querySelectorAll("td small, td .key").length === 50`)
	b.awaitText("td", "k0")
	b.click(".buttons button", "After")
	b.awaitText(".buttons span", "page 2")
	b.awaitText("td", "k99")
	b.fill(".bar", "Zone", "zone07")
	b.awaitText("td", "k2457") // the 50th override of the zone
	b.await("one page of the zone", `[...document.querySelectorAll("tbody tr td:first-child")].every(e => e.innerText === "zone07")`)

	b.choose("Fleet")
	b.awaitText("h2", fmt.Sprint(manyNodes, " nodes"))
	b.await("the node that disagrees first", `document.querySelector(".nodes li")?.innerText.includes("zone zone07: another")`)
	b.await("a part of the nodes", `document.querySelectorAll(".nodes li").length === 60`)
	b.click(".buttons button", "After")
	b.awaitText(".buttons span", "61 to 120")
	b.checkAccess("many nodes")

	b.choose("Keys")
	b.fill("main form", "Zone", "zone07")
	b.awaitText("main", "No key has used it lately") // the answer about the zone draws the page anew
	b.fill("main form", "Key", "k57")                // a key of zone07 with an override
	b.click("main form button", "Inspect")
	b.awaitText(".key-detail", "9/1h")
	b.awaitText(".timeline tr", "Override made")
}
