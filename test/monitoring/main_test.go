// Package monitoring tests what deploy/prometheus and deploy/grafana have: with promtool, and with a
// real Prometheus that scrapes real nodes.
package monitoring

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
