package config

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

func TestCheckBreaker(t *testing.T) {
	const redis = `"redis": {"addresses": ["192.0.2.1:6379"]}`
	for _, tc := range []struct{ config, want string }{
		{`{` + redis + `, "breaker": {"failures": 3, "within": "5s", "probe_every": "200ms", "probes": 1}}`, ""},
		{`{` + redis + `, "breaker": {}}`, ""},
		{`{"breaker": {}}`, "use `redis`"},
		{`{` + redis + `, "breaker": {"failures": -1}}`, "use 1 or more"},
		{`{` + redis + `, "breaker": {"probes": -1}}`, "use 1 or more"},
		{`{` + redis + `, "breaker": {"within": "-1s"}}`, "use durations above 0"},
		{`{` + redis + `, "breaker": {"probe_every": "-1s"}}`, "use durations above 0"},
	} {
		a := new(App)
		if err := caddy.StrictUnmarshalJSON([]byte(tc.config), a); err != nil {
			t.Fatal(err)
		}
		err := a.Check()
		if got := err == nil; got != (tc.want == "") || !got && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want %q", tc.config, err, tc.want)
		}
	}
}
