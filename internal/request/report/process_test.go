package report

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/test/promtest"
)

// testLimits are the limits in force.
func testLimits() []usage.LimitInForce {
	return []usage.LimitInForce{
		{Zone: "y", Events: 100, Window: time.Minute}, {Zone: "y", Endpoint: "/v1/*", Tier: "pro", Events: 5, Window: time.Hour},
		{Zone: "y", Tier: "none"},
	}
}

// observed returns the reports of a process whose configuration has no subscribers of events, and
// its log.
func observed() (*Process, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return NewProcess(func() *Log { return &Log{zap.New(core), func(string, map[string]any) {}} }, testLimits), logs
}

// gathered returns the values of all metrics: see promtest.
func gathered(t *testing.T, p *Process) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := p.Register(registry); err != nil {
		t.Fatal(err)
	}
	return promtest.Values(t, registry)
}
