package command

import (
	"strings"
	"testing"
)

// A zone may apply and limit nothing, as at a path that is none of its endpoints.
func TestExplainCommand(t *testing.T) {
	ran := runCommand(t, "", `{"request":{"method":"GET","uri":"/","host":"a","client_ip":"192.0.2.1"},"server":"srv0","version":0,
		"handlers":[{"outcome":"admitted","zones":[
			{"zone":"login","applies":true,"outcome":"admitted","values":[],"limits":[]},
			{"zone":"busy","applies":true,"outcome":"admitted","values":[],"limits":[],
				"adaptive":{"limit":8,"in_flight":3,"max_latency":"500ms","min":1,"max":9}},
			{"zone":"tried","applies":true,"outcome":"would_reject","dry_run":true,"values":[],
				"limits":[{"rule":{"limit":"1/1m","from":[]},"cost":1,"outcome":"would_reject"}],
				"rejection":[{"setting":"reject_header X-A","text":"a"},{"setting":"reject_header X-B","text":"b"}]}]}],
		"response":{}}`, "explain", "/")
	lines := strings.Join(strings.Fields(ran.output), " ")
	for _, want := range []string{"zone login admitted limit none here zone busy admitted adaptive 8 requests at once of all keys, of " +
		"which 3 are in flight on this node zone tried", "zone tried would_reject, in a dry run limit 1/1m",
		"if rejected reject_header X-A: a if rejected reject_header X-B: b"} {
		if ran.err != nil || !strings.Contains(lines, want) {
			t.Errorf("%v, output\n%s, want %q in it", ran.err, ran.output, want)
		}
	}
}
