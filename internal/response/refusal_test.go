package response

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
)

// The bound of an overload's Retry-After comes after the jitter, which would make it 2.
func TestRetryAfterOfOverload(t *testing.T) {
	for bound, most := range map[time.Duration]string{0: "2", time.Second: "1", time.Hour: "2"} {
		settings := NewSettings(&config.Handler{Headers: "none", Jitter: 1, MaxRetryAfter: caddy.Duration(bound)}, config.Defaults{})
		longest := ""
		for range 20 {
			a := Rejection{Settings: settings, Refusal: &Refusal{Status: 503}, Wait: settings.Lengthen(time.Second)}
			w, buffer := httptest.NewRecorder(), []byte(nil)
			if err := new(State).Reject(w, httptest.NewRequest("GET", "/", nil), nil, &a, 0, &buffer); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, w.Header().Get("Retry-After"))
		}
		if longest != most {
			t.Errorf("with a bound of %v, the longest Retry-After = %s, want %s", bound, longest, most)
		}
	}
}
