// Package fault tests what clients notice while Redis fails. Nodes, each a process of the built Caddy, share
// a real Redis under load. Each fault is injected and healed while a checker watches every request. The
// checker prints one line per fault.
//
// By default, each fault runs once. With -fault.matrix, each also runs on a standalone server and under
// Sentinel where it applies, with a reload of the configuration in its middle.
package fault

import (
	"flag"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

var matrix = flag.Bool("fault.matrix", false, "run the whole matrix of faults, with reloads")

func TestMain(m *testing.M) { nodetest.Main(m) }
