package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestAccessLogHasDecisions(t *testing.T) {
	g := newGateway(t)
	g.mustLoad(g.caddyfile("", "log\n"+zoneSite("limit 2/1h\ndeny_key bad\non_missing_key skip\n}\n"+
		"allow 198.51.100.1\ndeny 203.0.113.7\nzone all {\nmatch {\nnot path /at-once\n}\nkey all\nlimit 1000000/8760h\nalgorithm fixed_window\n}\n"+
		"zone at_once {\nmatch {\npath /at-once\n}\nkey all\nconcurrent 9")))
	field := func(path string, headers ...string) any {
		t.Helper()
		g.get(path, headers...)
		var found any
		redistest.Eventually(t, "the line of "+path, func() bool {
			for _, line := range g.logged("handled request") {
				if line["request"].(map[string]any)["uri"] == path {
					found = line["rate_limit"]
					if members, is := found.(map[string]any); is && members["decision"] != "denied" {
						if age := time.Since(time.UnixMicro(int64(members["at"].(float64)))); age < 0 || age > time.Minute {
							t.Errorf("%s: the decision is %v old, want less than a minute", path, age)
						}
						delete(members, "at")
					}
					return true
				}
			}
			return false
		})
		return found
	}
	for i, tc := range []struct {
		want    string
		headers []string
	}{
		{"map[decision:admitted key_hash:2bd806c97f0e remaining:1 source:store zone:user]", []string{alice}},
		{"map[decision:admitted key_hash:2bd806c97f0e remaining:0 source:store zone:user]", []string{alice}},
		{"map[decision:rejected key_hash:2bd806c97f0e remaining:0 source:store zone:user]", []string{alice}},
		{"map[decision:admitted key_hash:5ef5ef0364b6 remaining:999997 source:store zone:all]", nil},
		{"map[decision:denied key_hash:2f05d4b689d2 source:denied_key zone:user]", []string{"X-User: bad"}},
		{"map[decision:denied source:denied_address]", []string{from("203.0.113.7")}},
		{"<nil>", []string{from("198.51.100.1")}},
	} {
		if got := fmt.Sprint(field(fmt.Sprint("/", i), tc.headers...)); got != tc.want {
			t.Errorf("request %d: rate_limit = %s, want %s", i, got, tc.want)
		}
	}
	const atOnce = "map[decision:admitted key_hash:5ef5ef0364b6 remaining:8 source:store zone:at_once]"
	if got := fmt.Sprint(field("/at-once")); got != atOnce {
		t.Errorf("rate_limit of a zone with concurrent alone = %s, want %s", got, atOnce)
	}
}
