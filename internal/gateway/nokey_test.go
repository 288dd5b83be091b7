package gateway

import (
	"net/http"
	"testing"
)

// Requests through a Unix socket have no address. They share one count, whatever headers clients
// send.
func TestRequestsWithoutAddressShareACount(t *testing.T) {
	for _, tc := range []struct {
		name, zone string
		want       int // the status of the third request
		logged     bool
	}{
		{"key", `{"key": "{client_ip}", "limit": {"events": 2, "window": "1m"}}`, 429, true},
		{"peer", `{"key": "{remote_host}", "limit": {"events": 2, "window": "1m"}}`, 429, true},
		{"substitute", `{"key": "{header.X-Api-Key}", "limit": {"events": 2, "window": "1m"}}`, 429, true},
		{"skip", `{"key": "{client_ip}", "on_missing_key": "skip", "limit": {"events": 2, "window": "1m"}}`, 200, true},
		{"another key", `{"key": "static", "limit": {"events": 2, "window": "1m"}}`, 429, false},
	} {
		h, logs := observed(t, tc.zone)
		var got int
		for _, address := range []string{"@", "", "@"} {
			got = ask(t, h, address, nil)
		}
		if got != tc.want {
			t.Errorf("%s: status %d, want %d", tc.name, got, tc.want)
		}
		entries := logs.All()
		if (len(entries) == 1) != tc.logged || len(entries) > 1 {
			t.Errorf("%s: logged %+v", tc.name, entries)
		}
		if tc.logged && len(entries) == 1 && entries[0].ContextMap()["place"] != "Caddyfile:7" {
			t.Errorf("%s: the log does not name the place of the zone: %v", tc.name, entries[0].ContextMap())
		}
		if tc.logged && len(entries) == 1 && entries[0].Message == "requests without a key are counted by the client's "+
			"address: use on_missing_key to change that" {
			t.Errorf("%s: the log speaks of an address", tc.name)
		}
	}
	h, _ := observed(t, `{"key": "{header.X-Api-Key}", "on_missing_key": "{header.X-None}", "limit": {"unlimited": true}}`)
	if got := ask(t, h, "@", nil); got != http.StatusBadRequest {
		t.Errorf("without key and substitute: status %d, want 400", got)
	}
}
