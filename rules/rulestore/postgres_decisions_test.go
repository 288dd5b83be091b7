package rulestore_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

// openDecisions returns a table that is closed after the test.
func openDecisions(t *testing.T, url string) *rulestore.Decisions {
	t.Helper()
	table, err := rulestore.OpenDecisions(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Close)
	return table
}

func decisionRow(number int) rulestore.DecisionRow {
	return rulestore.DecisionRow{ID: fmt.Sprintf("%032x", number), Time: time.Now(), Zone: "user", Outcome: "rejected", Cost: 1}
}

// rows returns what a query of one text finds.
func (p person) rows(t *testing.T, query string) (text string) {
	t.Helper()
	if err := p.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	return text
}

// Each column has the value that its name says.
func TestDecisionsAreRows(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	table, reader := openDecisions(t, url), connect(t, url)
	status, wouldBe, limit, remaining, wait, waited := 429, 503, int64(100), int64(3), "1.500000 seconds", "0.350000 seconds"
	row := rulestore.DecisionRow{
		ID: "00000000000000070000000000000001", Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Node: "gateway-1", Zone: "user",
		Endpoint: "POST /export", Tier: "pro", Outcome: "rejected", Source: "lease", Reason: "why", KeyHash: "8254c329a928",
		Key: "a\x00b\\u0000\xff", Base64: "AA==", RemoteIP: "192.0.2.1", ClientIP: "2001:db8::1", Method: "GET", Host: "example.com",
		Path: "/a%00", Status: &status, WouldBe: &wouldBe, Cost: 20, Limit: &limit, Remaining: &remaining, Wait: &wait, Waited: &waited,
	}
	empty := rulestore.DecisionRow{ID: "00000000000000070000000000000002", Time: row.Time}
	for range 2 { // as after a reply that was lost
		if err := table.Write(t.Context(), []rulestore.DecisionRow{row, empty}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{
		row.ID: "(00000000-0000-0007-0000-000000000001,\"2026-01-02 03:04:05.000006+00\",gateway-1,user,\"POST /export\",pro,rejected," +
			"lease,why,8254c329a928,\"a\ufffdb\\\\u0000\ufffd\",AA==,192.0.2.1,2001:db8::1,GET,example.com,/a%00,429,503,20,100,3,00:00:01.5,00:00:00.35)",
		empty.ID: "(00000000-0000-0007-0000-000000000002,\"2026-01-02 03:04:05.000006+00\"," +
			`"","","","","","","","","","","","","","","",,,0,,,,)`,
	} {
		reader.exec(t, "SET timezone = 'UTC'")
		if got := reader.rows(t, "SELECT d::text FROM rate_limit_decisions d WHERE id = '"+id+"'"); got != want {
			t.Errorf("the row is\n%s, want\n%s", got, want)
		}
	}
	if n := reader.rows(t, "SELECT count(*)::text FROM rate_limit_decisions"); n != "2" {
		t.Errorf("%s rows, want 2", n)
	}
}

// Rows that the table does not accept are refused for good, and none of them is written.
func TestDecisionsRefused(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	table := openDecisions(t, url)
	wrong, later := decisionRow(1), "soon"
	wrong.Wait = &later
	if err := table.Write(t.Context(), []rulestore.DecisionRow{decisionRow(2), wrong}); !rulestore.IsRefused(err) {
		t.Errorf("error = %v, want that the rows are refused", err)
	}
	if n := connect(t, url).rows(t, "SELECT count(*)::text FROM rate_limit_decisions"); n != "0" {
		t.Errorf("%s rows, want none", n)
	}
	nobody := openDecisions(t, "postgres://postgres@127.0.0.1:1/none?connect_timeout=1")
	if err := nobody.Write(t.Context(), []rulestore.DecisionRow{decisionRow(1)}); err == nil || rulestore.IsRefused(err) {
		t.Errorf("error without a server = %v, want one that may pass", err)
	}
}

// Old rows are removed some at a time, and by one node at a time.
func TestOldDecisionsAreRemoved(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	table, other := openDecisions(t, url), connect(t, url)
	rows := make([]rulestore.DecisionRow, 25)
	for i := range rows {
		rows[i] = decisionRow(i)
		if rows[i].Time = rows[i].Time.Add(-2 * time.Hour); i >= 20 {
			rows[i].Time = time.Now().Add(-10 * time.Minute)
		}
	}
	if err := table.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	remove := func(want int) {
		t.Helper()
		if got, err := table.Remove(t.Context(), time.Hour, 15); got != want || err != nil {
			t.Errorf("removed %d, %v; want %d", got, err, want)
		}
	}
	remove(15)
	other.exec(t, "SELECT pg_advisory_lock(7236280412116543)")
	remove(0)
	other.exec(t, "SELECT pg_advisory_unlock(7236280412116543)")
	remove(5)
	remove(0)
	if n := other.rows(t, "SELECT count(*)::text FROM rate_limit_decisions"); n != "5" {
		t.Errorf("%s rows are left, want the 5 that are new", n)
	}
}

// TestDecisionsPage runs the statements of docs/operate/decisions.md, in their order, as the owner
// of the table. Afterwards a node records with the rights of the page.
func TestDecisionsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operate/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.Shared(t)
	database := server.Database(t)
	url := server.URL(database)
	row := decisionRow(1)
	row.KeyHash = "992621cb1579" // of the key in the page
	if err := openDecisions(t, url).Write(t.Context(), []rulestore.DecisionRow{row}); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, database, "CREATE USER recording_node")
	owner, queries := connect(t, url), 0
	for _, block := range regexp.MustCompile("(?s)\n```sql[a-z ]*\n(.*?);\n```").FindAllStringSubmatch(string(page), -1) {
		if statement := block[1]; strings.HasPrefix(statement, "SELECT") {
			queries++
			if n := owner.rows(t, "SELECT count(*)::text FROM ("+statement+") q"); n != "1" {
				t.Errorf("%s rows are found, want 1, by\n%s", n, statement)
			}
		} else {
			owner.exec(t, strings.Replace(statement, "TO node", "TO recording_node", 1))
		}
	}
	if queries != 2 {
		t.Errorf("the page has %d queries, want 2", queries)
	}
	owner.exec(t, "GRANT SELECT ON rate_limit_migrations TO recording_node") // as docs/operate/postgres.md says
	node := openDecisions(t, strings.Replace(url, "postgres@", "recording_node@", 1))
	if err := node.Write(t.Context(), []rulestore.DecisionRow{decisionRow(2)}); err != nil {
		t.Error(err)
	}
	if removed, err := node.Remove(t.Context(), 0, 10); removed != 2 || err != nil {
		t.Errorf("the node removes %d rows, %v; want 2", removed, err)
	}
}

// The table is made for nodes that need it, before or after the tables of rules.
func TestDecisionsBesideRules(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	for _, first := range []string{"rules", "decisions"} {
		url := server.URL(server.Database(t))
		store, table, reader := openPostgres(t, url), openDecisions(t, url), connect(t, url)
		if first == "rules" {
			write(t, store, rulestoretest.Version(1))
			if got := reader.rows(t, "SELECT coalesce(to_regclass('rate_limit_decisions')::text, 'none')"); got != "none" {
				t.Errorf("the table of decisions is %s, want none before a node records some", got)
			}
		}
		if err := table.Write(t.Context(), []rulestore.DecisionRow{decisionRow(1)}); err != nil {
			t.Error(err)
		}
		if first != "rules" {
			write(t, store, rulestoretest.Version(1))
		}
		latest(t, openPostgres(t, url)) // a node of before
		if n := reader.rows(t, "SELECT string_agg(name, ' ' ORDER BY name) FROM rate_limit_migrations"); n != "0001_decisions.sql 0001_rules.sql 0002_concurrent.sql" {
			t.Errorf("migrations = %s", n)
		}
	}
}
