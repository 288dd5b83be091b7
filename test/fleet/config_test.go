package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestReloadKeepsConnections(t *testing.T) {
	redis := redistest.NewServer(t)
	options := nodetest.InRedis(redis.Addr, "timeout 5s")
	n := nodetest.Start(t, options, nodetest.UserSite("3/24h"))
	for range 3 {
		n.MustGet(200, "/", "X-Api-Key: a")
	}
	n.MustGet(429, "/", "X-Api-Key: a")
	connections := func() (ids []string) {
		for line := range strings.Lines(redis.Client().ClientList(t.Context()).Val()) {
			if strings.Contains(line, "cmd=evalsha") || strings.Contains(line, "cmd=ping") {
				ids = append(ids, strings.Fields(line)[0])
			}
		}
		return ids
	}
	before := connections()
	n.Reload(options, nodetest.UserSite("5/24h"))
	n.MustGet(200, "/", "X-Api-Key: a")
	n.MustGet(200, "/", "X-Api-Key: a")
	n.MustGet(429, "/", "X-Api-Key: a")
	after := connections()
	gone := slices.DeleteFunc(slices.Clone(before), func(id string) bool { return slices.Contains(after, id) })
	if len(before) == 0 || len(gone) > 0 {
		t.Errorf("connections before and after the reload = %q, %q; want those before still in use", before, after)
	}
}

// Two nodes that define a zone differently warn, until one of them is reloaded.
func TestNodesWithDifferentDefinitionsWarn(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	options := nodetest.InRedis(redis.Addr)
	a, b := nodetest.Start(t, options, nodetest.UserSite("3/24h")), nodetest.Start(t, options, nodetest.UserSite("30/24h"))
	mismatched := fmt.Sprintf("caddy_rate_limit_mismatched_zones{store=%q}", "redis standalone "+redis.Addr)
	for _, n := range []*nodetest.Node{a, b} {
		n.Await("a warning", func() bool { return strings.Contains(n.Logged(), "another node defines the zone differently") })
		if warnings := strings.Count(n.Logged(), "another node"); warnings != 1 || !strings.Contains(n.Logged(), `"differs_in":["limit"]`) {
			t.Errorf("warnings = %d, want one about the limit:\n%s", warnings, n.Logged())
		}
		if zones := n.Metric(mismatched); zones != 1 {
			t.Errorf("mismatched zones = %v, want 1", zones)
		}
	}
	b.Reload(options, nodetest.UserSite("3/24h"))
	for _, n := range []*nodetest.Node{a, b} {
		n.Await("the end of that", func() bool {
			return strings.Contains(n.Logged(), "no other node defines the zone differently any more")
		})
		if zones := n.Metric(mismatched); zones != 0 {
			t.Errorf("mismatched zones after that = %v, want 0", zones)
		}
	}
}
