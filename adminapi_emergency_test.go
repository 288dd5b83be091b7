package fleetlimit

import (
	"testing"
	"time"
)

func TestParseEmergency(t *testing.T) {
	for _, tc := range []struct {
		body  emergencyRequest
		limit string
		want  time.Duration // 0: it is refused
	}{
		{emergencyRequest{}, "10/1s", 15 * time.Minute},
		{emergencyRequest{Limit: "5/s burst 20", ExpiresIn: "1d"}, "5/1s burst 20", 24 * time.Hour},
		{emergencyRequest{ExpiresIn: "1ms"}, "10/1s", time.Millisecond},
		{emergencyRequest{Limit: "block"}, "", 0},
		{emergencyRequest{Limit: "unlimited"}, "", 0},
		{emergencyRequest{Limit: "5/1s burst"}, "", 0},
		{emergencyRequest{ExpiresIn: "-1m"}, "", 0},
		{emergencyRequest{ExpiresIn: "24h1s"}, "", 0},
		{emergencyRequest{ExpiresIn: "soon"}, "", 0},
	} {
		e, err := tc.body.parse()
		if err != nil {
			if tc.want != 0 || statusOf(t, err) != 400 {
				t.Errorf("%+v: error = %v, want expiry in %v, or 400", tc.body, err, tc.want)
			}
			continue
		}
		if e.limit.String() != tc.limit || e.expiresIn != tc.want {
			t.Errorf("%+v = %v for %v, want %s for %v", tc.body, e.limit, e.expiresIn, tc.limit, tc.want)
		}
	}
}
