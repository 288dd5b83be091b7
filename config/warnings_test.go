package config

import (
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestWarnings(t *testing.T) {
	const (
		prefix = "ipv6_prefix does not change how keys are counted, because {http.request.header.X-Api-Key} is no address: use " +
			"{client_ip} in the key, or `on_missing_key {client_ip}` if it is meant for requests without a key"
		log = "sliding_window_log remembers each of 1000000 events, up to 16 MB for each key: use `sliding_window 60`, which " +
			"takes 528 bytes"
		sub    = "sliding_window 1000 takes 8048 bytes for each key: use `sliding_window 60`, which takes 528 bytes"
		strict = "mode strict has no effect, because the counts are in this process, which decides each request: use `redis` " +
			"in the global option rate_limit, or no mode"
		outage = "on_outage has no effect, because the counts are in this process, which has no outage: use `redis` in the " +
			"global option rate_limit, or no on_outage"
	)
	const apiKey = "key {http.request.header.X-Api-Key}\n"
	for _, tc := range []struct {
		zone  string
		redis bool
		want  []string
	}{
		{zone: apiKey + "limit 100/1m"},
		{zone: apiKey + "limit 100/1m\nipv6_prefix 48", want: []string{prefix}},
		{zone: apiKey + "limit 100/1m\nipv6_prefix 48\non_missing_key {client_ip}"},
		{zone: apiKey + "limit 100/1m\nipv6_prefix 48\non_missing_key skip", want: []string{prefix}},
		{zone: "key {client_ip}\nlimit 100/1m\nipv6_prefix 48\nipv4_prefix 24"},
		{zone: "key {header.X-Real-IP}\nlimit 100/1m\nipv6_prefix 48"},
		{zone: "key {vars.who}\nlimit 100/1m\nipv6_prefix 48"},
		{zone: apiKey + "limit 1000000/1h\nalgorithm sliding_window_log", want: []string{log}},
		{zone: apiKey + "limit 10000/1h\nalgorithm sliding_window_log"},
		{zone: apiKey + "limit 1000000/1h\nalgorithm sliding_window 60"},
		{zone: apiKey + "limit 5/1h\nalgorithm sliding_window 1000", want: []string{sub}},
		{zone: apiKey + "events 1000000\nwindow 1h", want: []string{log}},
		{zone: apiKey + "limit 5/1h\nendpoint /a 1000000/1h sliding_window_log", want: []string{log}},
		{zone: apiKey + "algorithm sliding_window_log\ntier {vars.t} {\nbig 1000000/1h\ndefault big\n}", want: []string{log}},
		{zone: apiKey + "limit 5/1h\nmode strict\nendpoint /a {\non_outage open\n}", want: []string{strict, outage}},
		{zone: apiKey + "limit 5/1h\nmode strict\non_outage open", redis: true},
		{zone: apiKey + "limit 5/1h\nmode lease"},
	} {
		var h Handler
		if err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser("rate_limit {\nzone z {\n" + tc.zone + "\n}\n}")); err != nil {
			t.Errorf("%s: %v", tc.zone, err)
			continue
		}
		app := new(App)
		if tc.redis {
			app.Redis = new(Redis)
		}
		var got []string
		for _, warning := range h.Zones["z"].Warnings(app) {
			got = append(got, warning.Error())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q\nwant %q", tc.zone, got, tc.want)
		}
	}
}

func TestWarningsOfApp(t *testing.T) {
	app := &App{Defaults: &Defaults{Enforcement: Enforcement{Mode: "strict"}}, Tiers: map[string]*Tier{
		"pro": {Limit: Limit{Events: 5}, Enforcement: Enforcement{OnOutage: "closed"}}, "free": {Limit: Limit{Events: 5}},
	}}
	if got := app.Warnings(); len(got) != 2 {
		t.Errorf("warnings = %v, want one of the defaults and one of the tier pro", got)
	}
	app.Redis = new(Redis)
	if got := app.Warnings(); len(got) != 0 {
		t.Errorf("warnings with Redis = %v, want none", got)
	}
}
