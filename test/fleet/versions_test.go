package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Two nodes are upgraded one after the other to a version that stores counts in another format. Both versions
// keep the limit with the same Redis, each with counts of its own, and neither misreads the counts of the
// other. Both follow the same rules. The nodes say what differs, until all are upgraded.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	newer, err := nodetest.BuildWith(t.TempDir(), "-ldflags", "-X github.com/fleetlimit/fleetlimit/internal/gateway.countFormat=next")
	if err != nil {
		t.Fatal(err)
	}
	redis := redistest.NewServer(t)
	options := nodetest.InRedis(redis.Addr, "timeout 5s") + "\nrules redis"
	var zones strings.Builder
	for zone, algorithm := range algorithms {
		fmt.Fprintf(&zones, "\t\tzone %s {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit 20/24h\n\t\t\talgorithm %s\n\t\t\tmatch {\n"+
			"\t\t\t\tpath /%s\n\t\t\t}\n\t\t}\n", zone, algorithm, zone)
	}
	site := "\trate_limit {\n" + zones.String() + "\t}"
	a, b := nodetest.Start(t, options, site), nodetest.Start(t, options, site)
	spend := func(key string, want int, nodes ...*nodetest.Node) {
		t.Helper()
		for zone := range algorithms {
			admitted := 0
			for i := range 50 {
				status, _, err := nodes[i%len(nodes)].Get("/"+zone, "X-Api-Key: "+key)
				if err != nil || status != 200 && status != 429 {
					t.Fatalf("zone %s: %d, %v", zone, status, err)
				}
				if status == 200 {
					admitted++
				}
			}
			if admitted != want {
				t.Errorf("admitted of %s in zone %s = %d, want %d", key, zone, admitted, want)
			}
		}
	}
	upgrade := func(n *nodetest.Node) {
		t.Helper()
		n.Terminate()
		n.AwaitExit()
		n.Binary = newer
		n.Restart()
	}
	spend("before", 20, a, b)
	a.Await("an override", func() bool {
		status, _ := a.Ask("POST", "overrides", `{"zone":"fixed","key":"kept","limit":"block","expires_in":"1h"}`)
		return status == 201
	})
	upgrade(b)
	spend("before", 0, a)
	spend("meanwhile", 20, a)
	spend("meanwhile", 20, b)
	spend("both", 40, a, b)
	for _, n := range []*nodetest.Node{a, b} {
		n.MustGet(429, "/fixed", "X-Api-Key: kept")
		n.Await("a warning", func() bool {
			return strings.Contains(n.Logged(), "another node defines the zone differently") &&
				strings.Contains(n.Logged(), `"differs_in":["count_format"]`)
		})
	}
	upgrade(a)
	spend("meanwhile", 0, a, b)
	spend("after", 20, a, b)
	b.Await("the end of the differences", func() bool {
		return strings.Count(b.Logged(), "no other node defines the zone differently any more") == len(algorithms)
	})
	for _, n := range []*nodetest.Node{a, b} {
		if foreign := n.Metric(fmt.Sprintf("caddy_rate_limit_store_foreign_values_total{store=%q}", "redis standalone "+redis.Addr)); foreign > 0 {
			t.Errorf("values that are not understood = %v, want none", foreign)
		}
		if strings.Contains(n.Logged(), `"level":"error"`) {
			t.Errorf("a node has logged an error:\n%s", n.Logged())
		}
	}
}
