package evaluate

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/zone"
)

// The bound of an overload's Retry-After comes after the jitter, which would make it 2.
func TestRetryAfterOfOverload(t *testing.T) {
	for bound, most := range map[time.Duration]string{0: "2", time.Second: "1", time.Hour: "2"} {
		h := &Handler{Settings: response.NewSettings(
			&config.Handler{Headers: "none", Jitter: 1, MaxRetryAfter: caddy.Duration(bound)}, config.Defaults{},
		)}
		e := Evaluation{progress: progress{handler: h}, Request: zone.Request{HTTP: httptest.NewRequest("GET", "/", nil)}}
		longest := ""
		for range 20 {
			w := httptest.NewRecorder()
			e.setRetryAfter(w)
			longest = max(longest, w.Header().Get("Retry-After"))
		}
		if longest != most {
			t.Errorf("with a bound of %v, the longest Retry-After = %s, want %s", bound, longest, most)
		}
	}
}
