package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServeHealth(t *testing.T) {
	provisionedApp(t, `{"redis": {"mode": "cluster", "addresses": ["192.0.2.1:6379"]}}`) // this Redis never answers
	for _, tc := range []struct {
		probe, body string
		want        int
	}{
		{"", `{"status":"degraded"}`, 503},
		{"ready", `{"status":"degraded"}`, 503},
		{"live", `{"status":"ok"}`, 200},
	} {
		w := httptest.NewRecorder()
		err := ServeHealth(w, httptest.NewRequest(http.MethodGet, "/", nil), tc.probe)
		if err != nil || w.Code != tc.want || w.Body.String() != tc.body+"\n" {
			t.Errorf("probe %q = %d %s (%v), want %d %s", tc.probe, w.Code, w.Body, err, tc.want, tc.body)
		}
	}
	if CheckProbe("alive") == nil {
		t.Error("probe alive is accepted, want an error")
	}
}
