package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// unmarshalHandler unmarshals the configuration of a handler as Caddy does.
func unmarshalHandler(config string) (*Handler, error) {
	h := new(Handler)
	return h, caddy.StrictUnmarshalJSON([]byte(config), h)
}

// TestTextForms checks that a setting as text is equal to the setting as an object or a number, and
// that both are marshalled alike.
func TestTextForms(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`{"limit":"100/1m"}`, `{"limit":"100/1m"}`},
		{`{"limit":"10/s burst 20"}`, `{"limit":"10/1s burst 20"}`},
		{`{"limit":"unlimited"}`, `{"limit":"unlimited"}`},
		{`{"limit":"block"}`, `{"limit":"block"}`},
		{`{"limit":{"block":true,"window":"1m"}}`, `{"limit":{"window":60000000000,"block":true}}`},
		{`{"limit":{"events":5,"window":"1m"}}`, `{"limit":"5/1m"}`},
		{`{"limit":{"window":1000000,"events":5}}`, `{"limit":"5/1ms"}`},
		{`{"limit":null}`, `{}`},
		{`{"algorithm":"fixed_window"}`, `{"algorithm":{"name":"fixed_window"}}`},
		{`{"algorithm":"sliding_window 10"}`, `{"algorithm":{"name":"sliding_window","subwindows":10}}`},
		{`{"algorithm":{"subwindows":1,"name":"sliding_window"}}`, `{"algorithm":{"name":"sliding_window"}}`},
		{`{"cost":5}`, `{"cost":{"events":5}}`},
		{`{"count_status":"401 5xx"}`, `{"count_status":["401","5xx"]}`},
		{`{"count_status":[401,"!2xx"]}`, `{"count_status":["401","!2xx"]}`},
		{`{"count_status":503}`, `{"count_status":["503"]}`},
		{`{"cost":"5"}`, `{"cost":{"events":5}}`},
		{`{"cost":"{http.vars.cost}"}`, `{"cost":{"placeholder":"{http.vars.cost}"}}`},
		{`{"cost":"{http.request.header.Cost} trusted"}`, `{"cost":{"placeholder":"{http.request.header.Cost}","trusted":true}}`},
		{`{"cost":{"events":5}}`, `{"cost":{"events":5}}`},
		{`{"dry_run":"0.7%"}`, `{"dry_run":0.007}`},
		{`{"dry_run":1}`, `{"dry_run":1}`},
		{`{"tier":{"tiers":{"pro":"1000/1m burst 9"}}}`, `{"tier":{"tiers":{"pro":"1000/1m burst 9"}}}`},
		{`{"tier":{"tiers":{"pro":{"events":1,"window":"1s","mode":"strict"}}}}`,
			`{"tier":{"tiers":{"pro":{"events":1,"window":1000000000,"mode":"strict"}}}}`},
		{`{"tier":{"tiers":{"pro":null,"free":{"mode":"strict"}}}}`, `{"tier":{"tiers":{"free":{"mode":"strict"},"pro":null}}}`},
		{`{"endpoints":[{"path":"/a","limit":"5/1h","algorithm":"fixed_window","cost":2,"tiers":{"pro":"block"}}]}`,
			`{"endpoints":[{"path":"/a","limit":"5/1h","algorithm":{"name":"fixed_window"},` +
				`"tiers":{"pro":"block"},"cost":{"events":2}}]}`},
	} {
		h, err := unmarshalHandler(`{"rate_limits":{"z":` + tc.text + `}}`)
		if err != nil {
			t.Errorf("%s is refused: %v", tc.text, err)
			continue
		}
		if got, err := json.Marshal(h.Zones["z"]); err != nil || string(got) != tc.want {
			t.Errorf("%s is\n%s, %v, want\n%s", tc.text, got, err, tc.want)
		}
	}
	h, err := unmarshalHandler(`{"jitter":"20%"}`)
	if err != nil || h.Jitter != 0.2 {
		t.Errorf("jitter 20%% is %v, %v; want 0.2", h.Jitter, err)
	}
	a := new(App)
	err = caddy.StrictUnmarshalJSON([]byte(`{"tiers":{"pro":"10/1m"},"defaults":{"algorithm":"fixed_window"}}`), a)
	if err != nil || a.Tiers["pro"].Events != 10 || a.Defaults.Algorithm.Name != "fixed_window" {
		t.Errorf("the app is %+v, %v", a, err)
	}
}

// A setting in the wrong form is refused, with the form to use.
func TestTextFormsRefuse(t *testing.T) {
	for _, tc := range []struct{ zone, want string }{
		{`{"limit":100}`, `rate_limits.z.limit: 100 is not a limit: use a rate such as "100/1m"`},
		{`{"limit":["100/1m"]}`, `["100/1m"] is not a limit`},
		{`{"limit":""}`, "limit: the rate is missing"},
		{`{"limit":"100"}`, `limit: "100" is not a rate: use <events>/<window>`},
		{`{"limit":"100/1m brust 20"}`, `unexpected "brust" after the rate`},
		{`{"limit":"0/1m"}`, "use block"},
		{`{"limit":"5/60"}`, `"5/60" is not a rate: use 5/60s`},
		{`{"wait":"oned"}`, `rate_limits.z.wait: "oned" is not a duration: use a number with its unit, such as "50ms"`},
		{`{"wait":""}`, `rate_limits.z.wait: time: invalid duration "": use a number with its unit`},
		{`{"wait":0.5}`, `rate_limits.z.wait: 0.5 is not a number of nanoseconds: use a number with its unit`},
		{`{"wait":9223372036854775808}`, `rate_limits.z.wait: 9223372036854775808 is not a number of nanoseconds: use a number with its unit`},
		{`{"wait":{}}`, `rate_limits.z.wait: it is an object: use a number with its unit`},
		{`{"wait":true}`, `rate_limits.z.wait: it is a boolean: use a number with its unit`},
		{`{"limit":{"events":100,"window":"60"}}`, `rate_limits.z.limit.window: time: missing unit in duration "60": use a number with its unit`},
		{`{"limit":{"events":100,"window":true}}`, "rate_limits.z.limit.window: "},
		{`{"limit":{"events":"100","window":"1m"}}`, "limit.events: it is a string: use an integer"},
		{`{"limit":{"events":1.5,"window":"1m"}}`, "limit.events: 1.5 is not an integer"},
		{`{"limit":{"events":100,"per":"1m"}}`, `unknown field "per": use "window"`},
		{`{"limit":{"block":"yes"}}`, "limit.block: it is a string: use true or false"},
		{`{"algorithm":7}`, `7 is not an algorithm: use its name`},
		{`{"algorithm":""}`, `"" is not an algorithm: use its name`},
		{`{"algorithm":"sliding_window 0"}`, `"0" is not a number of sub-windows: use 1 to`},
		{`{"algorithm":"sliding_window 5 5"}`, `"sliding_window 5 5" is not an algorithm: use its name`},
		{`{"algorithm":"leaky"}`, `algorithm is "leaky"`},
		{`{"algorithm":{"kind":"fixed_window"}}`, `unknown field "kind"`},
		{`{"cost":0}`, "use a number from 1"},
		{`{"cost":1.5}`, "use a number from 1"},
		{`{"cost":""}`, "use a number from 1"},
		{`{"cost":"{http.request.header.Cost}"}`, "use `trusted`"},
		{`{"cost":"5 trusted"}`, `unexpected "trusted"`},
		{`{"cost":{"event":5}}`, `cost: unknown field "event": use "events"`},
		{`{"dry_run":"1"}`, `"1" is not a percentage: use "0%" to "100%"`},
		{`{"dry_run":true}`, `true is not a percentage`},
		{`{"max_overshoot":0.01}`, `unknown field "max_overshoot": leases never exceed the limit: remove max_overshoot`},
		{`{"endpoints":[{"path":"/a","max_overshoot":"1%"}]}`, "leases never exceed the limit: remove max_overshoot"},
		{`{"tier":{"tiers":{"pro":{"max_overshoot":0}}}}`, "leases never exceed the limit: remove max_overshoot"},
		{`{"endpoints":[{"path":"/a","tiers":{"pro":{"max_overshoot":0}}}]}`, "leases never exceed the limit: remove max_overshoot"},
		{`{"tier":{"tiers":{"pro":1000}}}`, "1000 is not a limit"},
		{`{"tier":{"tiers":{"pro":{"limit":"1000/1m"}}}}`, `tiers.pro: unknown field "limit": use a rate such as "1000/1m" in place of the object`},
		{`{"max_keys":"10"}`, "rate_limits.z.max_keys: it is a string: use an integer"},
		{`{"allow_keys":"a*"}`, "allow_keys: it is a string: use an array"},
		{`{"key":5}`, "key: it is a number: use a string"},
		{`{"endpoints":{"path":"/a"}}`, "endpoints: it is an object: use an array"},
		{`{"lmit":"1/s"}`, `rate_limits.z: unknown field "lmit": use "limit"`},
		{`{"endpoints":[{"pathh":"/a"}]}`, `endpoints[0]: unknown field "pathh": use "path"`},
		{`{"tier":{"tiers":{"pro":{"windw":"1m","events":1}}}}`, `tier.tiers.pro: unknown field "windw": use "window"`},
		{`{"limit":{"event":1}}`, `use "events"`},
		{`{"endpoints":[{"path":"/a","rate":"1/s"}]}`, `unknown field "rate"`},
		{`"100/1m"`, "rate_limits.z: it is a string: use an object"},
	} {
		_, err := unmarshalHandler(`{"rate_limits":{"z":` + tc.zone + `, "other": null}}`)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want one with %q", tc.zone, err, tc.want)
		}
	}
	_, err := unmarshalHandler(`{"rate_limits":["z"]}`)
	if err == nil || err.Error() != "rate_limits: it is an array: use an object" {
		t.Errorf("a list of zones: error = %v", err)
	}
	_, err = unmarshalHandler(`{"rate_limits":{"z":{"event":1}}}`)
	if err == nil || !strings.Contains(err.Error(), "use one of ") {
		t.Errorf("a field of limits in a zone: error = %v, want one without the name of another object's field", err)
	}
}

func TestJSONMistakesNameTheRemedy(t *testing.T) {
	for _, tc := range []struct {
		into any
		text string
		want string
	}{
		{new(Handler), `{"zones": {}}`, `use "rate_limits"`},
		{new(Handler), `{"log_keys": true}`, `use "log_key"`},
		{new(Handler), `{"colour": 1}`, ", disable_metrics, "},
		{new(Handler), `{"headers": 5}`, "headers: it is a number: use a string"},
		{new(Handler), `{"sweep_interval": "5"}`, `use a number with its unit, such as "50ms"`},
		{new(Handler), `{"rate_limits": {"a": {"mode": 5}}}`, "rate_limits.a.mode: it is a number: use a string"},
		{new(Handler), `{"rate_limits": {"a": {"rate": "5/1m"}}}`, `rate_limits.a: unknown field "rate": use "limit"`},
		{new(Handler), `{"rate_limits": {"a": {"limit": {"events": "5"}}}}`, "rate_limits.a.limit.events: it is a string"},
		{new(App), `{"redi": {}}`, `use "redis"`},
		{new(App), `{"redis": {"address": "a:1"}}`, `redis: unknown field "address": use "addresses"`},
		{new(App), `{"redis": {"addresses": "a:1"}}`, "redis.addresses: it is a string: use an array"},
		{new(App), `{"redis": {"timeout": "50"}}`, `such as "50ms"`},
	} {
		err := caddy.StrictUnmarshalJSON([]byte(tc.text), tc.into)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Count(err.Error(), "use ") > 1 {
			t.Errorf("%s: error %v, want %q", tc.text, err, tc.want)
		}
	}
}
