// Package fleet tests nodes that share their counts in Redis. Each is a process of the built Caddy,
// with real Redis servers.
package fleet

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
