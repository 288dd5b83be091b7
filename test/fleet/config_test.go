package fleet

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestReloadKeepsConnections(t *testing.T) {
	redis := redistest.NewServer(t)
	options := "redis {\n\taddress " + redis.Addr + "\n\ttimeout 5s\n}"
	n := start(t, options, userSite("3/24h"))
	for range 3 {
		n.mustGet(200, "/", "X-Api-Key: a")
	}
	n.mustGet(429, "/", "X-Api-Key: a")
	connections := func() string {
		var ids []string
		for line := range strings.Lines(redis.Client().ClientList(t.Context()).Val()) {
			if strings.Contains(line, "cmd=evalsha") || strings.Contains(line, "cmd=ping") {
				ids = append(ids, strings.Fields(line)[0])
			}
		}
		return strings.Join(ids, " ")
	}
	before := connections()
	n.reload(options, userSite("5/24h"))
	n.mustGet(200, "/", "X-Api-Key: a")
	n.mustGet(200, "/", "X-Api-Key: a")
	n.mustGet(429, "/", "X-Api-Key: a")
	if after := connections(); before == "" || after != before {
		t.Errorf("connections before and after the reload = %q, %q; want the same", before, after)
	}
}

func TestNodesWithDifferentDefinitionsWarn(t *testing.T) {
	redis := redistest.NewServer(t)
	options := "redis {\n\taddress " + redis.Addr + "\n}"
	a, b := start(t, options, userSite("3/24h")), start(t, options, userSite("30/24h"))
	for _, n := range []*node{a, b} {
		n.await("a warning", func() bool { return strings.Contains(n.logged(), "another node defines the zone differently") })
		if warnings := strings.Count(n.logged(), "another node"); warnings != 1 {
			t.Errorf("warnings = %d, want one:\n%s", warnings, n.logged())
		}
	}
}
