package fleetlimit

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

func TestStoreHealth(t *testing.T) {
	const ms = time.Millisecond
	failed := errors.New("connection refused")
	for _, tc := range []struct {
		name      string
		breakers  []redisconn.Breaker
		lookupErr error
		want      adminapi.HealthStatus
	}{
		{"no primary", nil, nil, adminapi.HealthDegraded},
		{"never probed", []redisconn.Breaker{{Addr: "a"}}, nil, adminapi.HealthOK},
		{"fast", []redisconn.Breaker{{Addr: "a", Latency: ms}, {Addr: "b", Latency: 100 * ms}}, nil, adminapi.HealthOK},
		{"slow", []redisconn.Breaker{{Addr: "a", Latency: ms}, {Addr: "b", Latency: 100*ms + 1}}, nil, adminapi.HealthDegraded},
		{"open", []redisconn.Breaker{{Addr: "a", State: redisconn.Open, Err: failed}, {Addr: "b"}}, nil, adminapi.HealthDegraded},
		{"no Sentinel", []redisconn.Breaker{{Addr: "a"}}, failed, adminapi.HealthDegraded},
		{"half-open", []redisconn.Breaker{{Addr: "a", State: redisconn.HalfOpen, Err: failed}}, nil, adminapi.HealthDegraded},
	} {
		got := newStoreHealth("redis", tc.breakers, tc.lookupErr)
		if got.Status != tc.want || len(got.Primaries) != len(tc.breakers) {
			t.Errorf("%s: health = %+v, want %s with %d primaries", tc.name, got, tc.want, len(tc.breakers))
		}
		faults := 0
		for _, p := range got.Primaries {
			if (p.Error != "") != (p.Status == adminapi.HealthDegraded) {
				t.Errorf("%s: primary = %+v, want an error exactly if it is degraded", tc.name, p)
			}
			if p.Error != "" {
				faults++
			}
		}
		if got.Error != "" {
			faults++
		}
		if (faults > 0) != (tc.want == adminapi.HealthDegraded) {
			t.Errorf("%s: errors = %d in %+v", tc.name, faults, got)
		}
	}
}

// Two fleets in one configuration that is being replaced by another one: each has its entry.
func TestReadinessListsStores(t *testing.T) {
	provisionedApp(t, `{"redis": {"addresses": ["192.0.2.2:6379"]}}`)
	provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"]}}`)
	provisionedApp(t, `{}`)
	got := readReadiness()
	if len(got.Stores) != 2 || got.Stores[0].Primaries[0].Address != "192.0.2.1:6379" ||
		got.Stores[1].Primaries[0].Address != "192.0.2.2:6379" {
		t.Errorf("readiness = %+v, want the two Redis servers in order, and not the store in memory", got)
	}
}

func TestHealthHandler(t *testing.T) {
	provisionedApp(t, `{"redis": {"mode": "cluster", "addresses": ["192.0.2.1:6379"]}}`) // it never answers
	for _, tc := range []struct {
		probe, body string
		want        int
	}{
		{"", `{"status":"degraded"}`, 503},
		{"ready", `{"status":"degraded"}`, 503},
		{"live", `{"status":"ok"}`, 200},
	} {
		w := httptest.NewRecorder()
		err := (&HealthHandler{Probe: tc.probe}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil), nil)
		if err != nil || w.Code != tc.want || w.Body.String() != tc.body+"\n" {
			t.Errorf("probe %q = %d %s (%v), want %d %s", tc.probe, w.Code, w.Body, err, tc.want, tc.body)
		}
	}
	if err := (&HealthHandler{Probe: "alive"}).Validate(); err == nil {
		t.Error("probe alive is accepted, want an error")
	}
}
