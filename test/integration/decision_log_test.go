package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// loggedZone limits with an endpoint, a tier and a list of keys. Besides, there are a zone in a dry run and
// denied addresses.
const loggedZone = "rate_limit {\ndeny 203.0.113.7\nzone user {\nkey {header.X-User}\nlimit 2/1h\ndeny_key bad\n" +
	"tier {header.X-Tier} trusted {\npro 3/1h\n}\nendpoint POST /export {\ncost 2\n}\n}\n" +
	"zone trial {\nmatch {\npath /trial\n}\nkey all\nlimit block\ndry_run\n}\n%s}\nrespond hello"

// decisionLines waits for n records in the log. It returns each as its fields with their values, sorted by
// name, without the fields that differ in each run.
func (g *gateway) decisionLines(n int) (lines []string) {
	g.t.Helper()
	redistest.Eventually(g.t, fmt.Sprint(n, " records"), func() bool { return len(g.logged("decision")) >= n })
	for _, entry := range g.logged("decision") {
		if entry["logger"] != "rate_limit.decisions" || entry["level"] != "info" {
			continue
		}
		if host, _ := entry["host"].(string); host == "" || entry["node"] == "" || entry["ts"] == nil {
			g.t.Errorf("a record lacks host, node or ts: %v", entry)
		}
		maps.DeleteFunc(entry, func(name string, _ any) bool {
			return slices.Contains([]string{"level", "ts", "logger", "msg", "host", "node", "remote_ip", "wait"}, name)
		})
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(entry)) {
			fields = append(fields, fmt.Sprint(name, "=", entry[name]))
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return lines
}

func TestDecisionsAreLogged(t *testing.T) {
	g := serveWith(t, "rate_limit {\ndecisions {\nadmitted 100%\n}\n}", fmt.Sprintf(loggedZone, ""))
	for _, headers := range [][]string{
		{"X-User: alice"}, {"X-User: alice"}, {"X-User: alice"}, {"X-User: alice"}, {"X-User: bad"}, {"X-User: pat", "X-Tier: pro"},
		{from("203.0.113.7")},
	} {
		g.get("/a?b=secret", headers...)
	}
	g.get("/trial", "X-User: carol")
	g.request("POST", "/export", "X-User: dave")
	const at, a = "client_ip=127.0.0.1 ", "method=GET outcome="
	want := []string{
		at + "key_hash=2bd806c97f0e limit=2 " + a + "admitted path=/a remaining=1 source=store zone=user",
		at + "key_hash=2bd806c97f0e limit=2 " + a + "admitted path=/a remaining=0 source=store zone=user",
		at + "key_hash=2bd806c97f0e limit=2 " + a + "rejected path=/a remaining=0 source=store status=429 zone=user",
		at + "key_hash=2bd806c97f0e limit=2 " + a + "rejected path=/a remaining=0 source=store status=429 zone=user",
		at + "key_hash=2f05d4b689d2 " + a + "denied path=/a reason=denied_key status=403 zone=user",
		at + "key_hash=68d753f055b1 limit=3 " + a + "admitted path=/a remaining=2 source=store tier=pro zone=user",
		"client_ip=203.0.113.7 " + a + "denied path=/a reason=denied_address status=403",
		at + "key_hash=4c26d9074c27 limit=2 " + a + "admitted path=/trial remaining=1 source=store zone=user",
		at + "key_hash=5ef5ef0364b6 limit=0 " + a + "would_reject path=/trial remaining=0 source=store would_be=429 zone=trial",
		at + "cost=2 endpoint=POST /export key_hash=61ea0803f885 limit=2 method=POST outcome=admitted path=/export remaining=0 source=store zone=user",
	}
	if got := g.decisionLines(len(want)); !slices.Equal(got, want) {
		t.Errorf("records are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	g.awaitMetric(`caddy_rate_limit_decisions_recorded_total{to="log"}`, float64(len(want)))

	// The next configuration has log_key and records no admissions. The one after it records nothing, and the
	// last one records again.
	g.mustLoad(g.caddyfile("rate_limit {\ndecisions {\nadmitted 0%\n}\n}", fmt.Sprintf(loggedZone, "log_key\n")))
	g.get("/b", "X-User: dave")
	g.get("/b", "X-User: eve")
	want = append(want, at+"key=dave key_hash=61ea0803f885 limit=2 "+a+"rejected path=/b remaining=0 source=store status=429 zone=user")
	if got := g.decisionLines(len(want)); !slices.Equal(got[10:], want[10:]) {
		t.Errorf("records with log_key are\n%s\nwant\n%s", strings.Join(got[10:], "\n"), strings.Join(want[10:], "\n"))
	}
	g.mustLoad(g.caddyfile("", fmt.Sprintf(loggedZone, "")))
	g.get("/c", "X-User: dave").is(429)
	g.mustLoad(g.caddyfile("rate_limit {\ndecisions\n}", fmt.Sprintf(loggedZone, "")))
	g.get("/d", "X-User: dave").is(429)
	if got := g.decisionLines(len(want) + 1)[len(want)]; !strings.Contains(got, " path=/d ") {
		t.Errorf("the record after one without decisions is %s, want that of /d", got)
	}
}

// awaitMetric waits until a metric has a value.
func (g *gateway) awaitMetric(series string, want float64) {
	g.t.Helper()
	redistest.Eventually(g.t, fmt.Sprint(series, " of ", want), func() bool { return g.metric(series) == want })
}

// Rules and records are in a PostgreSQL that is killed and comes back. Requests do not notice.
func TestDecisionsGoToPostgres(t *testing.T) {
	server := pgtest.NewServer(t)
	g := serveWith(t, "rate_limit {\nrules postgres "+server.URL("postgres")+"\ndecisions postgres {\nadmitted 100%\n}\n}",
		zoneSite("limit 2/1h"))
	column := func(query string) (text string) {
		t.Helper()
		redistest.Eventually(t, query, func() bool {
			conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
			if err != nil {
				return false
			}
			defer func() { _ = conn.Close(t.Context()) }()
			return conn.QueryRow(t.Context(), query).Scan(&text) == nil
		})
		return text
	}
	for range 3 {
		g.get("/a?b=secret", alice)
	}
	column("SELECT 'all' FROM rate_limit_decisions HAVING count(*) = 3")
	const all = "SELECT string_agg(concat_ws(' ', zone, outcome, source, key_hash, key, client_ip, method, path, status, cost, rate_limit, remaining, " +
		"wait > '0 s' AND wait <= '1 h'), E'\\n' ORDER BY time) FROM rate_limit_decisions"
	const line = "store 2bd806c97f0e  127.0.0.1 GET /a"
	want := "user admitted " + line + " 1 2 1\nuser admitted " + line + " 1 2 0\nuser rejected " + line + " 429 1 2 0 t"
	if got := column(all); got != want {
		t.Errorf("rows are\n%s\nwant\n%s", got, want)
	}

	server.Kill()
	start := time.Now()
	for range 20 {
		g.get("/gone", alice).is(429)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("20 requests take %v while the database is gone", took)
	}
	redistest.Eventually(t, "a warning", func() bool { return len(g.logged("decisions cannot be recorded")) == 1 })
	server.Restart(t)
	column("SELECT 'all' FROM rate_limit_decisions WHERE path = '/gone' HAVING count(*) = 20")
	g.awaitMetric(`caddy_rate_limit_decisions_recorded_total{to="postgres"}`, 23)
	g.awaitMetric(`caddy_rate_limit_decisions_unrecorded_total{to="postgres"}`, 0)
	if n := len(g.logged("decisions can be recorded again")); n != 1 {
		t.Errorf("%d lines tell that decisions are recorded again, want 1", n)
	}
	if n := len(g.logged("decision")); n > 2 {
		t.Errorf("the log has decisions, too: %v", g.logged("decision"))
	}
}
