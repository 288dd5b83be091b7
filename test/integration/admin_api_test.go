package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// admin sends a request to the admin API. Headers are written as "Name: value". A body is JSON unless a
// header says otherwise.
func (g *gateway) admin(method, path, body string, headers ...string) *reply {
	g.t.Helper()
	g.awaitAdmin()
	req, err := http.NewRequest(method, "http://"+adminAddr+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	r := readReply(g.t, resp)
	recordExchange(g.t, req, body, r)
	return r
}

// exchanges is the file that gets all requests to the admin API and their responses. test/openapi
// compares them with the description of the API.
var exchanges struct {
	sync.Mutex
	file *os.File
}

func recordExchange(t *testing.T, req *http.Request, body string, r *reply) {
	name := os.Getenv("FLEETLIMIT_EXCHANGES")
	if name == "" {
		return
	}
	exchanges.Lock()
	defer exchanges.Unlock()
	if exchanges.file == nil {
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		exchanges.file = file
	}
	err := json.NewEncoder(exchanges.file).Encode(map[string]any{
		"Method": req.Method, "Path": req.URL.RequestURI(), "RequestHeader": req.Header, "RequestBody": []byte(body),
		"Status": r.status, "ResponseHeader": r.header, "ResponseBody": []byte(r.body),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// says checks that the body has these texts.
func (r *reply) says(texts ...string) *reply {
	r.t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			r.t.Errorf("body = %s, want %q in it", r.body, text)
		}
	}
	return r
}

func TestAdminPathsAndMethods(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	for _, path := range []string{"/rate_limit/health/live", "/rate_limit/health/serving", "/rate_limit/health/ready"} {
		g.admin("GET", path, "").is(200).has("Content-Type", "application/json").has("Cache-Control", "no-store").
			says(`"status":"ok"`)
		if r := g.admin("HEAD", path, "").is(200); r.body != "" {
			t.Errorf("body of HEAD %s = %q, want none", path, r.body)
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			g.admin(method, path, "").is(405).has("Allow", "GET, HEAD").
				says(`{"error":"the method is ` + method + `: use one of GET, HEAD"}`)
		}
	}
	g.admin("PUT", "/rate_limit/emergency", "{}").is(405).has("Allow", "DELETE, GET, HEAD, POST").says(`{"error":`)
	for _, path := range []string{"health", "health/", "health/ready/x", "zone"} {
		path = "/rate_limit/" + path
		g.admin("GET", path, "").is(404).says(`{"error":"there is no `+path, "/rate_limit/health/live, /rate_limit/health/ready")
	}
}

func TestReadyInMemory(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	if r := g.admin("GET", "/rate_limit/health/ready", "").is(200); r.body != `{"status":"ok","stores":[]}`+"\n" {
		t.Errorf("body = %s, want no stores", r.body)
	}
}

// While a primary is gone, the admin API and a site say so, without secrets. The probe live stays ok.
func TestReadyFollowsRedis(t *testing.T) {
	const password = "s3cret"
	redis := redistest.NewServer(t, "requirepass "+password)
	site := "rate_limit_health /healthz\nrate_limit_health /livez live\n" + zoneSite("limit 5/1h")
	options := "rate_limit {\nredis {\naddress " + redis.Addr + "\npassword " + password + "\n}\n" +
		"breaker {\nprobe_every 100ms\n}\n}"
	g := serveWith(t, options, site)
	check := func(what string, status int, says ...string) {
		t.Helper()
		redistest.Eventually(t, what, func() bool { return g.get("/healthz").status == status })
		r := g.admin("GET", "/rate_limit/health/ready", "").is(status).says(says...)
		r.says(`"store":"redis standalone `+redis.Addr+`"`, `"address":"`+redis.Addr+`"`)
		if strings.Contains(r.body, password) {
			t.Errorf("body = %s: it has the password", r.body)
		}
		public := g.get("/healthz").is(status).has("Cache-Control", "no-store").has("Content-Type", "application/json")
		if strings.Contains(public.body, "127.0.0.1") || strings.Contains(public.body, "error") {
			t.Errorf("body of the site = %s, want the status alone", public.body)
		}
		g.admin("GET", "/rate_limit/health/live", "").is(200)
		g.get("/livez").is(200).says(`{"status":"ok"}`)
	}
	check("ready", 200, `{"status":"ok"`, `"breaker":"closed"`)
	redis.Kill()
	check("degraded", 503, `{"status":"degraded"`, `"breaker":"open"`, `"error":`)
	redis.Restart()
	check("ready again", 200, `{"status":"ok"`, `"breaker":"closed"`)
}

// No primary is known while no node of the cluster answers.
func TestNotReadyWithoutPrimary(t *testing.T) {
	g := serveWith(t, "rate_limit {\nredis cluster {\naddress "+redistest.FreeAddr()+"\n}\n}", zoneSite("limit 5/1h"))
	g.admin("GET", "/rate_limit/health/ready", "").is(503).says(`"error":"no primary is known","primaries":[]`)
}

// No limit, authentication or list of addresses makes a health check of a site fail.
func TestHealthOfSiteIsBeforeLimits(t *testing.T) {
	g := serve(t, "rate_limit {\ndeny 127.0.0.1\nzone z {\nkey all\nlimit block\n}\n}\nrate_limit_health /healthz\n"+
		"basic_auth {\nalice $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n}\nrespond hello")
	g.get("/healthz").is(200).says(`{"status":"ok"}`)
	g.get("/healthz", "X-Forwarded-For: 192.0.2.1").is(200)
	g.get("/", "X-Forwarded-For: 192.0.2.1").is(429)
	g.request("POST", "/healthz").is(405).has("Allow", "GET, HEAD")
	if r := g.request("HEAD", "/healthz").is(200); r.body != "" {
		t.Errorf("body of HEAD = %q, want none", r.body)
	}
}

const startEmergency = `{"limit": "2/1h", "expires_in": "1h", "reason": "a test"}`

// emergency switches emergency mode on until the test ends.
func (g *gateway) emergency(body string) *reply {
	g.t.Helper()
	g.t.Cleanup(func() { g.admin("DELETE", "/rate_limit/emergency", "").is(200) })
	return g.admin("POST", "/rate_limit/emergency", body).is(200)
}

func from(address string) string { return "X-Forwarded-For: " + address }

func TestEmergency(t *testing.T) {
	g := serve(t, zoneSite("limit 100/1h\nallow_key alice\n}\nallow 198.51.100.0/24\ndeny 203.0.113.7\n"+
		"zone unused {\nkey all\nlimit unlimited"))
	g.admin("GET", "/rate_limit/emergency", "").is(200).says(`{"active":false}`)
	g.emergency(startEmergency).has("Cache-Control", "no-store").
		says(`{"active":true,"limit":"2/1h","reason":"a test","started_by":"127.0.0.1:`, `"expires_at":"`)
	g.admin("GET", "/rate_limit/emergency", "").is(200).says(`"active":true`, `"limit":"2/1h"`)

	for _, address := range []string{"192.0.2.1", "2001:db8::1"} {
		g.get("/", from(address)).is(200)
		g.get("/", from(address)).is(200)
		g.get("/", alice, from(address)).rejected() // although allow_key allows her
		r := g.get("/", from(address)).rejected().has("Content-Type", "application/json").
			says(`"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit of 2 requests per hour exceeded"`, `"zone":"(emergency)"`)
		if s := r.retryAfter(); s < 1700 || s > 1800 {
			t.Errorf("Retry-After = %d, want 1800", s)
		}
	}
	g.get("/", from("2001:db8::2")).rejected() // an address of the same /64
	g.get("/", from("2001:db8:0:1::1")).is(200)
	for range 5 {
		g.get("/", from("198.51.100.1")).is(200)
		g.get("/", from("203.0.113.7")).is(403)
	}

	// Emergency mode survives a reload with its counts, and a new limit applies to them.
	g.reload(zoneSite("limit 50/1h"))
	g.get("/", from("192.0.2.1")).rejected()
	g.admin("POST", "/rate_limit/emergency", `{"limit": "4/1h", "expires_in": "1h"}`).is(200).says(`"limit":"4/1h"`)
	g.get("/", from("192.0.2.1")).is(200)

	if n := g.metric("caddy_rate_limit_emergency"); n != 1 {
		t.Errorf("caddy_rate_limit_emergency = %v, want 1", n)
	}
	if n := g.metric(`caddy_rate_limit_decisions_total{outcome="rejected",source="store",zone="(emergency)"}`); n < 4 {
		t.Errorf("rejections = %v, want 4 or more", n)
	}
	for range 2 {
		g.admin("DELETE", "/rate_limit/emergency", "").is(200).says(`{"active":false}`)
	}
	for range 5 {
		g.get("/", from("192.0.2.1")).is(200)
	}
	if n := g.metric("caddy_rate_limit_emergency"); n != 0 {
		t.Errorf("caddy_rate_limit_emergency = %v, want 0", n)
	}
	for message, want := range map[string]int{"emergency mode is on": 2, "emergency mode is off": 1} {
		lines := g.logged(message)
		if len(lines) != want {
			t.Errorf("lines with %q = %v, want %d", message, lines, want)
		}
		for _, line := range lines {
			if by, _ := line["by"].(string); !strings.HasPrefix(by, "127.0.0.1:") {
				t.Errorf("by = %q in %v, want the address of the client", by, line)
			}
		}
	}
	lines := g.logged("rate limit exceeded")
	if len(lines) == 0 || lines[0]["zone"] != "(emergency)" || lines[0]["client_ip"] != "192.0.2.1" {
		t.Errorf("lines about rejections = %v, want one of 192.0.2.1 by (emergency)", lines)
	}
}

// All rejections of emergency mode follow `reject`.
func TestEmergencyFollowsReject(t *testing.T) {
	g := newGateway(t)
	g.emergency(`{"limit": "1/1h"}`)
	for i, tc := range []struct{ style, contentType, says string }{
		{"problem", "application/problem+json", `"violated-policies":["(emergency)"]`},
		{"error", "text/plain; charset=utf-8", "sorry, (emergency)"},
	} {
		g.reload("rate_limit {\nreject " + tc.style + "\nzone z {\nkey all\nlimit 5/1h\n}\n}\nrespond hello\n" +
			"handle_errors {\nrespond \"sorry, {http.rate_limit.exceeded.name}\"\n}")
		address := from(fmt.Sprint("192.0.2.", i))
		g.get("/", address).is(200)
		g.get("/", address).rejected().has("Content-Type", tc.contentType).says(tc.says)
	}
}

// A request that passes several handlers counts once.
func TestEmergencyCountsRequestOnce(t *testing.T) {
	handler := func(zone string) string { return "rate_limit {\nzone " + zone + " {\nkey all\nlimit 50/1h\n}\n}\n" }
	g := serve(t, "route {\n"+handler("a")+handler("b")+"respond hello\n}")
	g.emergency(startEmergency)
	g.get("/", from("192.0.2.9")).is(200)
	g.get("/", from("192.0.2.9")).is(200)
	g.get("/", from("192.0.2.9")).rejected()
}

func TestEmergencyEvents(t *testing.T) {
	g := serveWith(t, "events {\non rate_limit_emergency witness\n}", zoneSite("limit 5/1h"))
	takeWitnessed()
	check := func(state string) {
		t.Helper()
		var got []map[string]any
		redistest.Eventually(t, "the event "+state, func() bool {
			got = append(got, takeWitnessed()...)
			return len(got) > 0
		})
		if want := "[map[limit:2/1h reason:a test state:" + state + "]]"; fmt.Sprint(got) != want {
			t.Errorf("events = %v, want %s", got, want)
		}
	}
	g.emergency(startEmergency)
	check("on")
	g.admin("DELETE", "/rate_limit/emergency", "").is(200)
	check("off")
}

// Emergency mode ends by itself, and not before its time.
func TestEmergencyExpires(t *testing.T) {
	g := serve(t, zoneSite("limit 1000000/1h"))
	begin := time.Now()
	g.emergency(`{"limit": "1/1h", "expires_in": "1500ms"}`)
	g.get("/", alice, from("192.0.2.10")).is(200)
	if s := g.get("/", alice, from("192.0.2.10")).rejected().retryAfter(); s > 2 {
		t.Errorf("Retry-After = %d, want 2 or less, as it has ended then", s)
	}
	redistest.Eventually(t, "the end", func() bool { return g.get("/", alice, from("192.0.2.10")).status == 200 })
	if after := time.Since(begin); after < 1500*time.Millisecond {
		t.Errorf("it ended after %v, want 1.5 s", after)
	}
	g.admin("GET", "/rate_limit/emergency", "").says(`{"active":false}`)
	redistest.Eventually(t, "the log line", func() bool { return len(g.logged("emergency mode is off: it has expired")) == 1 })
}

func TestEmergencyRefuses(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	for _, tc := range []struct {
		body, says string
		status     int
		headers    []string
	}{
		{`{"limit": "10"}`, "limit: \\\"10\\\" is not a rate: use", 400, nil},
		{`{"limit": "0/1s"}`, "use block", 400, nil},
		{`{"limit": "block"}`, "use a rate such as 1/1m", 400, nil},
		{`{"limit": "unlimited"}`, "use DELETE", 400, nil},
		{`{"limit": 10}`, `limit: it is a number: use a string. An example is {"limit": "10/1s"`, 400, nil},
		{`{"expires_in": "15"}`, "use one such as 15m", 400, nil},
		{`{"expires_in": "0s"}`, "use DELETE", 400, nil},
		{`{"expires_in": "25h"}`, "use 24h or less", 400, nil},
		{`{"expires": "15m"}`, `unknown field "expires": use "expires_in"`, 400, nil},
		{`{"limit": "1/s", "limit": "2/s"}`, "limit: it occurs twice: use it once", 400, nil},
		{`{"reason": "` + strings.Repeat("x", 1001) + `"}`, "use at most 1000", 400, nil},
		{`{"reason": "` + strings.Repeat("x", 70_000) + `"}`, "use at most 65536 bytes", 413, nil},
		{`{}{}`, "after top-level value at byte 3: use valid JSON", 400, nil},
		{`{} x`, "use valid JSON", 400, nil},
		{`[]`, "it is an array: use an object", 400, nil},
		{`{`, "use valid JSON", 400, nil},
		{"", "it is empty", 400, []string{"Content-Type: application/json"}},
		{`{}`, "use Content-Type: application/json", 415, []string{"Content-Type: text/plain"}},
		{`{}`, "use Content-Type: application/json", 415, []string{"Content-Type: application/x-www-form-urlencoded"}},
		{"", "use Content-Type: application/json", 415, nil},
	} {
		r := g.admin("POST", "/rate_limit/emergency", tc.body, tc.headers...).is(tc.status).has("Content-Type", "application/json")
		if tc.says = strings.ReplaceAll(tc.says, "\\", ""); !strings.Contains(strings.ReplaceAll(r.body, "\\", ""), tc.says) {
			t.Errorf("POST %.60s: body = %s, want %q in it", tc.body, r.body, tc.says)
		}
	}
	g.admin("GET", "/rate_limit/emergency", "").says(`{"active":false}`)
	g.emergency(`{}`).says(`"limit":"10/1s"`)
}

// Pages of other origins, and names that were rebound to this address, cannot switch emergency mode.
func TestBrowsersCannotSwitchEmergency(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	for _, headers := range [][]string{
		{"Origin: http://attacker.example"},
		{"Origin: https://" + adminAddr + ".attacker.example"},
		{"Origin: null"},
		{"Sec-Fetch-Mode: no-cors", "Origin: http://" + adminAddr},
		{"Sec-Fetch-Mode: cors"},
		{"Host: attacker.example:" + redistest.Port(adminAddr)},
		{"Host: attacker.example"},
	} {
		for _, method := range []string{"POST", "DELETE", "GET", "OPTIONS"} {
			r := g.admin(method, "/rate_limit/emergency", `{}`, headers...)
			if r.status != 403 && r.status != 400 {
				t.Errorf("%s with %q = %d, want 403 or 400", method, headers, r.status)
			}
			if r.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %q: Access-Control-Allow-Origin = %q", method, headers, r.header.Get("Access-Control-Allow-Origin"))
			}
		}
	}
	g.admin("GET", "/rate_limit/emergency", "").says(`{"active":false}`)
	g.emergency(`{}`)
	g.admin("DELETE", "/rate_limit/emergency", "", "Origin: http://attacker.example").is(403)
	g.admin("GET", "/rate_limit/emergency", "", "Origin: http://"+adminAddr).is(200).says(`"active":true`)
}

// A configuration that fails to load replaces the admin API, which still serves this process.
func TestAdminAPIAfterFailedReload(t *testing.T) {
	g := serve(t, zoneSite("limit 100/1h"))
	g.emergency(startEmergency)
	if err := g.load(g.caddyfile("", zoneSite("limit 100/1h")+"\nheader_that_does_not_exist")); err == nil {
		t.Fatal("the configuration loaded, want an error")
	}
	if err := g.loadJSON(strings.Replace(g.runningConfig(), `"100/1h"`, `{"events":-1}`, 1)); err == nil {
		t.Fatal("the configuration loaded, want an error")
	}
	g.admin("GET", "/rate_limit/emergency", "").is(200).says(`"active":true`)
	g.admin("DELETE", "/rate_limit/emergency", "").is(200)
	g.admin("GET", "/rate_limit/health/ready", "").is(200)
}
