package fleetlimit

import (
	"fmt"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestAccessLogField(t *testing.T) {
	result := func(name string, remaining int64) zoneResult {
		return zoneResult{
			zone:     &zone{name: name, usage: &usage.Zone{Name: name}},
			decision: limiter.Decision{OK: true, Limit: 10, Remaining: remaining, Source: limiter.FromLease},
		}
	}
	outage := result("c", -1)
	outage.outage, outage.decision.Source = true, limiter.FromLate
	denied := result("d", 0)
	denied.decision.OK = false
	for _, tc := range []struct {
		name  string
		state requestState
		want  string
	}{
		{"nothing", requestState{}, "map[]"},
		{"least left", requestState{results: []zoneResult{result("a", 9), result("b", 8)}},
			"map[rate_limit:map[decision:admitted remaining:8 source:lease zone:b]]"},
		{"outage", requestState{results: []zoneResult{result("a", 0), outage}},
			"map[rate_limit:map[decision:degraded source:late zone:c]]"},
		{"rejected", requestState{results: []zoneResult{outage, denied}, exceeded: "d"},
			"map[rate_limit:map[decision:rejected remaining:0 source:lease zone:d]]"},
		{"denied", requestState{exceeded: "a", forbidden: deniedKey},
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
