package placeholder

import "testing"

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"clinet_ip":              "client_ip",
		"client_id":              "client_ip",
		"remot_host":             "remote_host",
		"jwt.sub":                "http.auth.user.id",
		"http.request.headers.X": "http.request.header.X",
		"plan":                   "",
		"geoip.country_code":     "",
	} {
		if got := Nearest(name); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
