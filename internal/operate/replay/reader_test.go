package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// site returns a configuration of one site with a handler, which is JSON.
func site(handler string) []byte {
	return fmt.Appendf(nil, `{"apps":{"rate_limit":{"tiers":{"pro":"40/1m"}},"http":{"servers":{"srv0":{"routes":[
		{"match":[{"host":["api.example.com"]}],"handle":[{"handler":"subroute","routes":[
			{"match":[{"path":["/v1/*","/open"]}],"handle":[{"handler":"rate_limit",%s}]}]}]}]}}}}}`, handler)
}

func load(t *testing.T, o Options, handler string) *Reader {
	t.Helper()
	z, err := Load(site(handler), "user", o)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// line returns a line of Caddy's log. members are further ones of the request.
func line(method, uri string, members ...string) string {
	request := append([]string{fmt.Sprintf(`"client_ip":"192.0.2.1","host":"api.example.com","method":%q,"uri":%q`, method, uri)}, members...)
	return `{"ts":1700000000,"request":{` + strings.Join(request, ",") + `}}`
}

func key(text string) string { return fmt.Sprintf(`"headers":{"X-Api-Key":[%q]}`, text) }

// read returns the requests of lines as texts "limit key cost".
func read(t *testing.T, z *Reader, lines ...string) ([]string, error) {
	t.Helper()
	r, err := logs.Open(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	var keys sim.Keys
	var got []string
	limits := z.Limits()
	format := logs.NewJSON(logs.Fields{Time: "ts"}, z)
	_, err = logs.Read([]logs.Source{{Name: "log", Lines: r, Format: format}}, &keys, 0, 0, func(r sim.Arrival) {
		l := limits[r.Rule]
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(l.Endpoint, " ", l.Tier, " ", l.Limit, " ", z.KeyName(keys.Name(r.Key)), " ", r.Cost)), " "))
	})
	return got, err
}

func TestZoneReadsRequests(t *testing.T) {
	tls := `"tls":{"version":772,"server_name":"api.example.com"}`
	for _, test := range []struct {
		name    string
		handler string
		lines   []string
		want    []string
		others  Summary
	}{
		{"key and prefix", `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m"}}`, []string{
			line("GET", "/v1/a"), line("GET", "/v1/a", `"client_ip":"2001:db8::5"`),
		}, []string{"20/1m 192.0.2.1 1", "20/1m 192.0.2.1 1"}, Summary{}}, // the first of two members counts
		{"IPv6", `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m"}}`, []string{
			`{"ts":1,"request":{"client_ip":"2001:db8::5","host":"api.example.com","method":"GET","uri":"/v1/"}}`,
		}, []string{"20/1m 2001:db8::/64 1"}, Summary{}},
		{"routes and match", `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m","match":[{"method":["POST"]},{"header":{"X-Bulk":["1"]}}]}}`,
			[]string{
				line("POST", "/v1/a"), line("GET", "/v1/a"), line("GET", "/v1/a", `"headers":{"X-Bulk":["1"]}`), line("POST", "/v2/a"),
				strings.Replace(line("POST", "/v1/a"), "api.example.com", "www.example.com", 1),
			}, []string{"20/1m 192.0.2.1 1", "20/1m 192.0.2.1 1"}, Summary{Passed: 3}},
		{"missing key", `"rate_limits":{"user":{"key":"{http.request.header.X-Api-Key}","limit":"20/1m"}}`, []string{
			line("GET", "/v1/a", key("k")), line("GET", "/v1/a"), line("GET", "/v1/a", `"headers":{"X-Api-Key":["a","b"]}`),
		}, []string{"20/1m k 1", "20/1m 192.0.2.1 1"}, Summary{Refused: 1}},
		{"missing key with a limit", `"rate_limits":{"user":{"key":"{http.request.header.X-Api-Key}","limit":"20/1m","on_missing_limit":"2/1m"}}`, []string{
			line("GET", "/v1/a", key("k")), line("GET", "/v1/a"),
		}, []string{"20/1m k 1", "2/1m 192.0.2.1 1"}, Summary{}},
		{"skip", `"rate_limits":{"user":{"key":"{http.request.header.X-Api-Key}","limit":"20/1m","on_missing_key":"skip","allow_keys":["in*"],"deny_keys":["bad"]}}`,
			[]string{line("GET", "/v1/a"), line("GET", "/v1/a", key("internal")), line("GET", "/v1/a", key("bad")), line("GET", "/v1/a", key("k"))},
			[]string{"20/1m k 1"}, Summary{Skipped: 1, Allowed: 1, Refused: 1}},
		{"endpoints", `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m","endpoints":[
			{"path":"/v1/export","limit":"5/1m"},{"path":"/v1/heavy","methods":["POST"],"cost":5},{"path":"/v1/free","limit":{"unlimited":true}},
			{"path":"/v1/closed","limit":{"block":true}}]}}`,
			[]string{line("GET", "/v1/export"), line("POST", "/v1/heavy"), line("GET", "/v1/heavy"), line("GET", "/v1/free"), line("GET", "/v1/closed")},
			[]string{"/v1/export 5/1m 192.0.2.1 1", "20/1m 192.0.2.1 5", "20/1m 192.0.2.1 1", "/v1/closed block 192.0.2.1 1"}, Summary{Unlimited: 1}},
		{"tiers and cost", `"rate_limits":{"user":{"key":"{http.request.header.X-Api-Key}","limit":"20/1m","cost":{"placeholder":"{http.request.header.X-Cost}","trusted":true},
			"tier":{"placeholder":"{http.request.header.X-Tier}","trusted":true,"tiers":{"pro":null,"free":"5/1m"},"keys":[{"glob":"f_*","tier":"free"}]}}}`,
			[]string{
				line("GET", "/v1/a", `"headers":{"X-Api-Key":["k"],"X-Tier":["pro"],"X-Cost":["7"]}`),
				line("GET", "/v1/a", `"headers":{"X-Api-Key":["f_1"],"X-Cost":["700"]}`), line("GET", "/v1/a", key("k")),
			}, []string{"pro 40/1m k 7", "free 5/1m f_1 5", "20/1m k 1"}, Summary{InvalidCosts: 1}},
		{"statuses", `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m","count_status":["401"]}}`, []string{
			strings.Replace(line("GET", "/v1/a"), `{"ts`, `{"status":401,"ts`, 1), strings.Replace(line("GET", "/v1/a"), `{"ts`, `{"status":200,"ts`, 1),
		}, []string{"20/1m 192.0.2.1 1"}, Summary{Uncounted: 1}},
		{"addresses", `"allow":["192.0.2.0/24"],"deny":["203.0.113.0/24"],"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m"}}`, []string{
			line("GET", "/v1/a"), strings.Replace(line("GET", "/v1/a"), "192.0.2.1", "203.0.113.9", 1), strings.Replace(line("GET", "/v1/a"), "192.0.2.1", "198.51.100.1", 1),
		}, []string{"20/1m 198.51.100.1 1"}, Summary{Allowed: 1, Refused: 1}},
		{"other lines", `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m"}}`, []string{
			`{"ts":1,"logger":"admin","msg":"stopped"}`, strings.Replace(line("GET", "/v1/a"), `{"ts`, `{"logger":"http.log.error.log0","ts`, 1),
			line("GET", "/v1/a"),
		}, []string{"20/1m 192.0.2.1 1"}, Summary{}},
		{"more fields", `"rate_limits":{"user":{"key":"{http.request.tls.server_name}-{http.request.uri.query.t}-{http.request.host}-{http.auth.user.id}","limit":"20/1m","match":[{"protocol":"https"}]}}`,
			[]string{strings.Replace(line("GET", "/v1/a?t=x", tls, `"proto":"HTTP/2.0"`), `{"ts`, `{"user_id":"bob","ts`, 1), strings.Replace(line("GET", "/v1/a?t=x", `"proto":"HTTP/1.1"`), `{"ts`, `{"user_id":"bob","ts`, 1)},
			[]string{"20/1m api.example.com-x-api.example.com-bob 1"}, Summary{Passed: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			z := load(t, Options{}, test.handler)
			got, err := read(t, z, test.lines...)
			if err == nil {
				err = z.Check()
			}
			if !slices.Equal(got, test.want) || z.Summary != test.others || err != nil {
				t.Errorf("requests = %q, %+v, %v, want %q, %+v", got, z.Summary, err, test.want, test.others)
			}
		})
	}
}

// TestGivenFields has further fields of the log provide placeholders that no field of Caddy's log
// has.
func TestGivenFields(t *testing.T) {
	z := load(t, Options{Fields: map[string]string{"{http.auth.user.tier}": "plan.name", "vars.tenant": "tenant", "http.request.header.X-Api-Key": "key"}},
		`"rate_limits":{"user":{"key":"{http.vars.tenant}/{http.request.header.X-Api-Key}","limit":"20/1m",
		"tier":{"placeholder":"{http.auth.user.tier}","tiers":{"pro":"40/1m"}}}}`)
	got, err := read(t, z, strings.Replace(line("GET", "/v1/a"), `{"ts`, `{"tenant":"acme","key":"k","plan":{"name":"pro"},"ts`, 1),
		strings.Replace(line("GET", "/v1/a"), `{"ts`, `{"tenant":"acme","key":"k2","ts`, 1), line("GET", "/v1/a"))
	if want := []string{"pro 40/1m acme/k 1", "20/1m acme/k2 1", "20/1m 192.0.2.1 1"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("requests = %q, %v, want %q", got, err, want)
	}
}

// TestRecorded reads what the gateway has written about its decisions.
func TestRecorded(t *testing.T) {
	z := load(t, Options{Recorded: true}, `"rate_limits":{"user":{"key":"{http.request.header.Authorization}","limit":"20/1m",
		"match":[{"expression":"{http.vars.x} == 'y'"}],
		"tier":{"placeholder":"{http.auth.user.tier}","tiers":{"pro":"40/1m"}},"endpoints":[{"path":"/export","limit":"5/1m"},{"path":"/heavy","cost":5}]}}`)
	said := func(members string) string { return `{"ts":1700000000,"rate_limit":{` + members + `}}` }
	got, err := read(t, z,
		said(`"zone":"user","decision":"admitted","key_hash":"aa"`), said(`"zone":"user","decision":"rejected","key_hash":"bb","tier":"pro"`),
		said(`"zone":"user","decision":"admitted","key_hash":"aa","endpoint":"/export"`),
		said(`"zone":"user","decision":"admitted","key_hash":"aa","endpoint":"/heavy","cost":5`),
		said(`"zone":"other","decision":"admitted","key_hash":"aa"`), said(`"zone":"user","decision":"denied","key_hash":"aa"`),
		said(`"zone":"user","decision":"admitted"`), `{"ts":1700000000}`)
	if want := []string{"20/1m aa 1", "pro 40/1m bb 1", "/export 5/1m aa 1", "20/1m aa 5"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("requests = %q, %v, want %q", got, err, want)
	}
	if want := (Summary{Passed: 2, Skipped: 1}); z.Summary != want {
		t.Errorf("others = %+v, want %+v", z.Summary, want)
	}
}

// A field that a log lacks, or cannot have, is an error that names what needs the field.
func TestRefusals(t *testing.T) {
	for _, test := range []struct{ handler, want string }{
		{`"rate_limits":{"other":{"key":"{client_ip}","limit":"1/1m"}}`, `the configuration has no zone "user": use one of other`},
		{`"rate_limits":{"user":{"key":"{client_ip}","concurrent":5}}`, `zone "user" has no rate to simulate: use a zone with`},
		{`"rate_limits":{"user":{"key":"{client_ip}"}}`, `zone "user": no limit: use one`},
		{`"rate_limits":{"user":{"key":"{http.vars.tenant}","limit":"1/1m"}}`, "the zone reads {http.vars.tenant}, and no field of the log has it: use log_append"},
		{`"rate_limits":{"user":{"key":"{client_ip}","limit":"1/1m","tier":{"placeholder":"{http.auth.user.tier}","tiers":{"pro":"1/1m"}}}}`,
			"the zone reads {http.auth.user.tier}, and no field"},
		{`"rate_limits":{"user":{"key":"{client_ip}","limit":"1/1m","match":[{"expression":"true"}]}}`, "match: no log has what the matcher expression reads: use"},
	} {
		if _, err := Load(site(test.handler), "user", Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %s", test.handler, err, test.want)
		}
	}
	if _, err := Load([]byte(`{}`), "user", Options{}); err == nil || !strings.Contains(err.Error(), "the configuration has no zone: use one with rate_limit") {
		t.Errorf("error = %v, want that there is no zone", err)
	}
	const byKey = `"rate_limits":{"user":{"key":"{http.request.header.Authorization}","limit":"1/1m"}}`
	z := load(t, Options{}, byKey)
	if _, err := read(t, z, line("GET", "/v1/a", `"headers":{"Authorization":["REDACTED"]}`)); err == nil ||
		!strings.Contains(err.Error(), "the log has Authorization as REDACTED: use log_credentials") {
		t.Errorf("error = %v, want that the header is redacted", err)
	}
	z = load(t, Options{}, byKey)
	if _, err := read(t, z, line("GET", "/v1/a")); err != nil {
		t.Fatal(err)
	}
	want := "none of 1 lines has request.headers.Authorization, which {http.request.header.Authorization} needs: use"
	if err := z.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// A log without hosts is taken for a log of the site.
func TestLogWithoutHosts(t *testing.T) {
	z := load(t, Options{}, `"rate_limits":{"user":{"key":"{client_ip}","limit":"20/1m"}}`)
	f, err := logs.NewCombined(1, z)
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]error{"/v1/a": nil, "/v2": logs.ErrNoRecord} {
		r, err := f.Record([]byte(`192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET ` + uri + ` HTTP/1.1" 200 5`))
		if err != want || err == nil && z.KeyName(string(r.Key)) != "192.0.2.1" {
			t.Errorf("%s: key %q, %v, want 192.0.2.1, %v", uri, r.Key, err, want)
		}
	}
}
