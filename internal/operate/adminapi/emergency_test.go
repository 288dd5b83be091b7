package adminapi

import (
	"testing"
	"time"
)

func TestEmergencyRequest(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, tc := range []struct {
		body  emergencyRequest
		limit string
		want  time.Duration // 0 if the request is refused
	}{
		{emergencyRequest{}, "10/1s", 15 * time.Minute},
		{emergencyRequest{Limit: "5/1s burst 20", ExpiresIn: "1d"}, "5/1s burst 20", 24 * time.Hour},
		{emergencyRequest{ExpiresIn: "1ms"}, "10/1s", time.Millisecond},
		{emergencyRequest{Limit: "refused"}, "", 0},
		{emergencyRequest{ExpiresIn: "-1m"}, "", 0},
		{emergencyRequest{ExpiresIn: "24h1s"}, "", 0},
		{emergencyRequest{ExpiresIn: "soon"}, "", 0},
	} {
		e, err := tc.body.parse(now)
		if err != nil {
			if tc.want != 0 || statusOf(t, err) != 400 {
				t.Errorf("%+v: error = %v, want expiry in %v, or 400", tc.body, err, tc.want)
			}
			continue
		}
		if in := e.ExpiresAt.Sub(now); e.Limit != tc.limit || in != tc.want {
			t.Errorf("%+v = %v for %v, want %s for %v", tc.body, e.Limit, in, tc.limit, tc.want)
		}
	}
}
