package gateway

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/decisionlog"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
)

// BenchmarkDecisionLog measures what recording adds to an admitted request, when no request is
// recorded and when one in a hundred is. The variants take turns, and the quickest batch of each
// counts, so that other programs disturb it little.
func BenchmarkDecisionLog(b *testing.B) {
	const batch = 1000
	h := provisioned(b, `{"rate_limits": {"bench": {"key": "{http.request.header.X-Api-Key}", "limit": "1000000000/1m"}}}`)
	variants := []struct {
		name     string
		recorded *decisionlog.Log
		quickest time.Duration
	}{{name: "off"}, {name: "none-drawn"}, {name: "sampled"}}
	silent := report.NewProcess(func() *report.Log { return &report.Log{Logger: zap.NewNop()} }, nil)
	for i, share := range []config.Fraction{0, 0.01} {
		target, err := decisionlog.Resolve(&config.DecisionLog{Admitted: &share}, nil)
		if err != nil {
			b.Fatal(err)
		}
		recorded, release := target.Acquire("node", silent)
		defer release()
		variants[i+1].recorded = recorded
	}
	for b.Loop() {
		for i := range variants {
			v := &variants[i]
			h.requests.Reports = reports.Requests(h.log, &h.Handler, v.recorded)
			start := time.Now()
			for range batch {
				_ = h.ServeHTTP(newBenchWriter(), benchRequest("k"), handlerThatWritesNothing)
			}
			if took := time.Since(start); v.quickest == 0 || took < v.quickest {
				v.quickest = took
			}
		}
	}
	for _, v := range variants {
		b.ReportMetric(float64(v.quickest.Nanoseconds())/batch, v.name+"-ns/request")
	}
}
