package report

import (
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A testSpan keeps its outcome.
type testSpan struct {
	noop.Span
	outcome string
}

func (*testSpan) IsRecording() bool { return true }

func (s *testSpan) SetAttributes(all ...attribute.KeyValue) {
	for _, a := range all {
		if a.Key == "rate_limit.outcome" {
			s.outcome = a.Value.AsString()
		}
	}
}

// A span names outcomes as metrics do.
func TestOutcomeOfSpan(t *testing.T) {
	result := func(r response.Result) *response.State {
		r.ZoneResponses, r.Policy, r.Counters = &response.ZoneResponses{Usage: new(usage.ZoneCounters)}, new(response.Policy), new(usage.Counters)
		return &response.State{Results: []response.Result{r}}
	}
	for want, s := range map[string]*response.State{
		"admitted":   result(response.Result{Decision: limiter.Decision{OK: true}}),
		"queued":     result(response.Result{Decision: limiter.Decision{OK: true}, Waited: time.Second}),
		"rejected":   result(response.Result{}),
		"degraded":   result(response.Result{Decision: limiter.Decision{OK: true}, Failure: limiter.ErrLate}),
		"denied":     {Refusal: &response.Refusal{Status: 403}},
		"overloaded": {Refusal: &response.Refusal{Status: 503}},
	} {
		span, r := new(testSpan), httptest.NewRequest("GET", "/", nil)
		AddToSpan(r.WithContext(trace.ContextWithSpan(r.Context(), span)), s)
		if span.outcome != want {
			t.Errorf("outcome of a span = %q, want %s", span.outcome, want)
		}
	}
}
