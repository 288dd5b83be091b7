package report

import (
	"fmt"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestAccessLogField(t *testing.T) {
	result := func(name string, remaining int64) response.Result {
		return response.Result{
			ZoneResponses: &response.ZoneResponses{Usage: &usage.ZoneCounters{Name: name}}, Counters: &usage.Counters{Endpoint: "/v1/*", Tier: "pro"}, Cost: 1,
			Policy:   new(response.Policy),
			Decision: limiter.Decision{OK: true, Limit: 10, Remaining: remaining, Source: limiter.FromLease},
		}
	}
	outage := result("c", -1)
	outage.Counters, outage.Cost = new(usage.Counters), 5
	outage.Failure, outage.Decision.Source = limiter.ErrLate, limiter.FromLate
	denied := result("d", 0)
	denied.Decision.OK = false
	timed := result("e", 7)
	timed.Decision.At = 1_700_000_000_250_000
	for _, tc := range []struct {
		name  string
		state response.State
		want  string
	}{
		{"nothing", response.State{}, "map[]"},
		{"least left", response.State{Results: []response.Result{result("a", 9), result("b", 8)}},
			"map[rate_limit:map[decision:admitted endpoint:/v1/* remaining:8 source:lease tier:pro zone:b]]"},
		{"the instant", response.State{Results: []response.Result{timed}},
			"map[rate_limit:map[at:1700000000250000 decision:admitted endpoint:/v1/* remaining:7 source:lease tier:pro zone:e]]"},
		{"outage", response.State{Results: []response.Result{result("a", 0), outage}, Keys: []response.KeyText{{Zone: outage.Usage, Text: "k"}}},
			"map[rate_limit:map[cost:5 decision:degraded key_hash:8254c329a928 reason:timeout source:late zone:c]]"},
		{"rejected", response.State{Results: []response.Result{outage, denied}, Exceeded: "d"},
			"map[rate_limit:map[decision:rejected endpoint:/v1/* remaining:0 source:lease tier:pro zone:d]]"},
		{"denied", response.State{Exceeded: "a", Keys: []response.KeyText{{Zone: &usage.ZoneCounters{Name: "a"}, Text: "k"}}, Refusal: &response.Refusal{Reason: "denied_key"}},
			"map[rate_limit:map[decision:denied key_hash:8254c329a928 source:denied_key zone:a]]"},
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
