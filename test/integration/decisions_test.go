package integration

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A follower is a client that follows decisions.
type follower struct {
	t       *testing.T
	request *http.Request
	body    string
	reply   *reply // with the lines that were read
	lines   *bufio.Scanner
	close   func() error
}

// A line is a line of a tail.
type line struct {
	Zone, Outcome, Key, Path, Wait string
	Endpoint, Tier                 string
	Missing                        bool
	ClientIP                       string `json:"client_ip"`
	Status, Dropped                int
	Limit, Remaining               *int
	TierUnknown                    string `json:"tier_unknown"`
	Reason                         string
	End                            string
}

// follow opens a tail at the admin endpoint addr. The tail is open when follow returns.
func follow(t *testing.T, client *http.Client, addr, query, body string) *follower {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, "http://"+addr+"/rate_limit/decisions?"+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{
		t: t, request: r, body: body, lines: bufio.NewScanner(resp.Body), close: resp.Body.Close,
		reply: &reply{t: t, status: resp.StatusCode, header: resp.Header},
	}
	t.Cleanup(func() { _ = f.close() })
	f.reply.is(200).has("Content-Type", "application/x-ndjson").has("Cache-Control", "no-store")
	return f
}

// next waits for a line.
func (f *follower) next() (l line) {
	f.t.Helper()
	if !f.lines.Scan() {
		f.t.Fatalf("the tail has ended: %v", f.lines.Err())
	}
	f.reply.body += f.lines.Text() + "\n"
	if err := json.Unmarshal(f.lines.Bytes(), &l); err != nil {
		f.t.Fatalf("%v: %s", err, f.lines.Text())
	}
	return l
}

// ends checks that the next line is the last.
func (f *follower) ends(why string) {
	f.t.Helper()
	if l := f.next(); l.End != why {
		f.t.Errorf("line = %+v, want the end: %s", l, why)
	}
	if f.lines.Scan() || f.lines.Err() != nil {
		f.t.Errorf("after the end: %q, %v", f.lines.Text(), f.lines.Err())
	}
	recordExchange(f.t, f.request, f.body, f.reply)
}

func (g *gateway) follow(query, body string) *follower {
	g.t.Helper()
	g.awaitAdmin()
	return follow(g.t, g.client, adminAddr, query, body)
}

// Each decision comes while the tail goes on.
func TestAdminDecisionsAreLive(t *testing.T) {
	g := serve(t, zoneSite("limit 2/1h\nendpoint /v1/* {\nlimit 1/1h\n}\ndeny_key evil*"))
	all := g.follow("sample=1&limit=6", "")
	ofAlice := g.follow("zone=user&limit=5", `{"key": "alice"}`)
	rejections := g.follow("outcome=rejected&outcome=denied&limit=3", "")
	for _, want := range []struct {
		path, user, outcome string
		status, remaining   int
	}{
		{"/a", "alice", "admitted", 0, 1}, {"/a", "alice", "admitted", 0, 0}, {"/b", "alice", "rejected", 429, 0},
		{"/v1/x", "alice", "admitted", 0, 0}, {"/v1/x", "alice", "rejected", 429, 0}, {"/", "evil1", "denied", 403, 0},
	} {
		g.get(want.path+"?secret=1", "X-User: "+want.user)
		for _, f := range []*follower{all, ofAlice, rejections} {
			if f == ofAlice && want.user != "alice" || f == rejections && want.status == 0 {
				continue
			}
			l := f.next()
			if l.Zone != "user" || l.Key != want.user || l.Path != want.path || l.Outcome != want.outcome || l.Status != want.status ||
				l.Remaining != nil && *l.Remaining != want.remaining || (l.Wait != "") != (want.outcome == "rejected") {
				t.Errorf("line = %+v, want %+v", l, want)
			}
		}
	}
	for _, f := range []*follower{all, ofAlice, rejections} {
		f.ends("limit")
		if strings.Contains(f.reply.body, "secret") {
			t.Errorf("the tail has the query: %s", f.reply.body)
		}
	}
}

// A rule on a key rejects a request before the zone has chosen an endpoint. The line of the decision names the
// endpoint that matches the path as Caddy reads it.
func TestAdminDecisionsNameTheEndpoint(t *testing.T) {
	g := serve(t, zoneSite("limit 2/1h\nendpoint /a 1/1h\ndeny_key evil*"))
	f := g.follow("limit=2", "")
	for path, want := range map[string]string{"/a": "/a", "/a;x": ""} {
		g.get(path, "X-User: evil1").is(403)
		if l := f.next(); l.Path != path || l.Endpoint != want {
			t.Errorf("line = %+v, want the endpoint %q of %s", l, want, path)
		}
	}
}

func TestAdminDecisionsRefused(t *testing.T) {
	g := serve(t, zoneSite("limit 2/1h"))
	g.admin("GET", "/rate_limit/decisions?zone=usr", "").is(400).says(`use one of [\"user\"]`)
	g.admin("GET", "/rate_limit/decisions?key=alice", "").is(400).says("use POST with a body")
	g.admin("GET", "/rate_limit/decisions?for=1h", "").is(400).says("at most 10m")
	g.admin("POST", "/rate_limit/decisions", `{"key": ""}`).is(400).says("the key is empty")
	g.admin("POST", "/rate_limit/decisions", `key=alice`, "Content-Type: application/x-www-form-urlencoded").is(415)
	if r := g.admin("HEAD", "/rate_limit/decisions", "").is(200); r.body != "" {
		t.Errorf("body of HEAD = %q, want none", r.body)
	}
	open := make([]*follower, 8)
	for i := range open {
		open[i] = g.follow("", "")
	}
	g.admin("GET", "/rate_limit/decisions", "").is(429).says("use one of their tails")
	for _, f := range open {
		_ = f.close()
	}
}

// A reload waits for no tail, and Caddy stops the old admin endpoint soon.
func TestAdminDecisionsEndAtReload(t *testing.T) {
	g := serve(t, zoneSite("limit 2/1h"))
	f := g.follow("sample=1&for=10m", "")
	g.get("/", alice)
	if l := f.next(); l.Outcome != "admitted" {
		t.Errorf("line = %+v, want an admission", l)
	}
	start := time.Now()
	g.reload(zoneSite("limit 3/1h"))
	f.ends("reload")
	g.awaitAdmin()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the reload with an open tail has taken %v", took)
	}
	f = g.follow("sample=1&limit=1", "")
	g.get("/", alice)
	if l := f.next(); l.Limit == nil || *l.Limit != 3 {
		t.Errorf("line = %+v, want the new limit", l)
	}
	f.ends("limit")
}

// In a flood, each rejection is sent or counted.
func TestAdminDecisionsOfFlood(t *testing.T) {
	const clients, each = 4, 100
	g := serve(t, zoneSite("limit 1/1h"))
	g.get("/", alice).is(200)
	f := g.follow("for=10m", "")
	var flood sync.WaitGroup
	for range clients {
		flood.Go(func() {
			client := newClient()
			defer client.CloseIdleConnections()
			for range each {
				r, _ := http.NewRequest(http.MethodGet, "http://"+g.addr, nil)
				r.Header.Set("X-User", "alice")
				if resp, err := client.Do(r); err != nil || resp.StatusCode != http.StatusTooManyRequests {
					t.Errorf("response = %v, %v, want 429", resp, err)
					return
				} else {
					_ = resp.Body.Close()
				}
			}
		})
	}
	for told := 0; told < clients*each; {
		l := f.next()
		if l.Outcome == "rejected" {
			told++
		}
		if told += l.Dropped; l.End != "" {
			t.Fatalf("the tail has ended after %d of %d decisions", told, clients*each)
		}
	}
	flood.Wait()
}
