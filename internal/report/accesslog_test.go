package report

import (
	"fmt"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestAccessLogField(t *testing.T) {
	result := func(name string, remaining int64) response.Result {
		return response.Result{
			Zone:     &usage.Zone{Name: name},
			Policy:   new(response.Policy),
			Decision: limiter.Decision{OK: true, Limit: 10, Remaining: remaining, Source: limiter.FromLease},
		}
	}
	outage := result("c", -1)
	outage.Outage, outage.Decision.Source = true, limiter.FromLate
	denied := result("d", 0)
	denied.Decision.OK = false
	for _, tc := range []struct {
		name  string
		state response.State
		want  string
	}{
		{"nothing", response.State{}, "map[]"},
		{"least left", response.State{Results: []response.Result{result("a", 9), result("b", 8)}},
			"map[rate_limit:map[decision:admitted remaining:8 source:lease zone:b]]"},
		{"outage", response.State{Results: []response.Result{result("a", 0), outage}},
			"map[rate_limit:map[decision:degraded source:late zone:c]]"},
		{"rejected", response.State{Results: []response.Result{outage, denied}, Exceeded: "d"},
			"map[rate_limit:map[decision:rejected remaining:0 source:lease zone:d]]"},
		{"denied", response.State{Exceeded: "a", Refusal: &response.Refusal{Reason: "denied_key"}},
			"map[rate_limit:map[decision:denied source:denied_key zone:a]]"},
	} {
		line := zapcore.NewMapObjectEncoder()
		if err := (*accessLogField)(&tc.state).MarshalLogObject(line); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(line.Fields); got != tc.want {
			t.Errorf("%s: fields = %s, want %s", tc.name, got, tc.want)
		}
	}
}
