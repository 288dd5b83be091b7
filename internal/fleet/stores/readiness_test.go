package stores

import (
	"errors"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

func TestStoreHealth(t *testing.T) {
	const ms = time.Millisecond
	failed := errors.New("connection refused")
	for _, tc := range []struct {
		name      string
		breakers  []redisconn.Breaker
		lookupErr error
		want      api.HealthStatus
	}{
		{"no primary", nil, nil, api.HealthDegraded},
		{"never probed", []redisconn.Breaker{{Addr: "a"}}, nil, api.HealthOK},
		{"fast", []redisconn.Breaker{{Addr: "a", Latency: ms}, {Addr: "b", Latency: 100 * ms}}, nil, api.HealthOK},
		{"slow", []redisconn.Breaker{{Addr: "a", Latency: ms}, {Addr: "b", Latency: 100*ms + 1}}, nil, api.HealthDegraded},
		{"open", []redisconn.Breaker{{Addr: "a", State: redisconn.Open, Err: failed}, {Addr: "b"}}, nil, api.HealthDegraded},
		{"no Sentinel", []redisconn.Breaker{{Addr: "a"}}, failed, api.HealthDegraded},
		{"half-open", []redisconn.Breaker{{Addr: "a", State: redisconn.HalfOpen, Err: failed}}, nil, api.HealthDegraded},
	} {
		state := State{Name: "redis", LookupErr: tc.lookupErr}
		for _, b := range tc.breakers {
			state.Primaries = append(state.Primaries, redisconn.Primary{Breaker: b})
		}
		got := state.health()
		if got.Status != tc.want || len(got.Primaries) != len(tc.breakers) {
			t.Errorf("%s: health = %+v, want %s with %d primaries", tc.name, got, tc.want, len(tc.breakers))
		}
		faults := 0
		for _, p := range got.Primaries {
			if (p.Error != "") != (p.Status == api.HealthDegraded) {
				t.Errorf("%s: primary = %+v, want an error exactly if it is degraded", tc.name, p)
			}
			if p.Error != "" {
				faults++
			}
		}
		if got.Error != "" {
			faults++
		}
		if (faults > 0) != (tc.want == api.HealthDegraded) {
			t.Errorf("%s: errors = %d in %+v", tc.name, faults, got)
		}
	}
}

func TestReadiness(t *testing.T) {
	for _, redis := range []string{"", `{"mode": "cluster", "addresses": ["192.0.2.1:6379"]}`} {
		_, release := Acquire(resolved(t, redis), new(observer))
		defer release()
		want := api.HealthOK
		if redis != "" {
			want = api.HealthDegraded // as no primary is known
		}
		if got := Readiness(); got.Status != want || (len(got.Stores) == 1) != (redis != "") {
			t.Errorf("readiness with %q = %+v, want %s", redis, got, want)
		}
	}
}
