package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Redis answers after four fifths of the timeout, and knows none of the scripts: right after the
// nodes have started, after SCRIPT FLUSH, and after a restart of Redis. The first requests of all
// kinds arrive in bursts at all nodes. Redis decides all of them.
func TestColdScripts(t *testing.T) {
	const timeout = 500 * time.Millisecond
	redis := redistest.NewServer(t)
	proxy := redistest.NewProxy(t, redis.Addr)
	site, paths := slowSites("local")
	site += "\trate_limit /any {\n\t\tzone any {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit 1000000/1h\n\t\t\tmode strict\n\t\t}\n\t}\n"
	nodes := nodetest.StartAll(t, 4, nodetest.InRedis(proxy.Addr, "timeout "+timeout.String())+"\nnodes 4", site)
	flush := func() { redis.Client().ScriptFlush(t.Context()) }
	for _, event := range []struct {
		name         string
		once, before func() // all bursts, and each burst
	}{
		{"start", func() {}, func() {}},
		{"SCRIPT FLUSH", func() {}, flush},
		{"restart", redis.Restart, func() {}},
	} {
		proxy.Delay(0)
		event.once()
		awaitRedis(nodes, "/any")
		proxy.Delay(timeout * 4 / 5)
		for _, path := range paths {
			event.before()
			admitted, without := burst(t, nodes, path, fmt.Sprint("after ", event.name))
			if admitted > burstLimit || without > 0 || admitted < burstLimit && strings.HasSuffix(path, "strict") {
				t.Errorf("after %s, %s: admitted = %d, without Redis = %d, want %d and none", event.name, path, admitted, without, burstLimit)
			}
		}
	}
}
