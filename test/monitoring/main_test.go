// Package monitoring tests the files of deploy/prometheus and deploy/grafana: with promtool, and with a real
// Prometheus that scrapes real nodes.
package monitoring

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
