package report

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// observed returns the reports of a process whose configuration has no subscribers of events, and
// its log.
func observed() (*Process, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return NewProcess(func() *Log { return &Log{zap.New(core), func(string, map[string]any) {}} }), logs
}

// gathered returns the values of all metrics by name and labels. That of a histogram is its count.
func gathered(t *testing.T, p *Process) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := p.Register(registry); err != nil {
		t.Fatal(err)
	}
	return seriesOf(t, registry)
}

// seriesOf returns the values of a registry by name and labels.
func seriesOf(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("metrics cannot be gathered: %v", err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "caddy_rate_limit_")
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}
