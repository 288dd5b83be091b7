package rulestore_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

// A person is somebody who writes SQL.
type person struct{ *pgx.Conn }

func connect(t *testing.T, url string) person {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return person{conn}
}

func (p person) exec(t *testing.T, statements string) {
	t.Helper()
	if _, err := p.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%v: %s", err, statements)
	}
}

// TestPostgresSQL changes rows in SQL. Each transaction is one version, and 20 nodes that watch see
// it in less than two seconds.
func TestPostgresSQL(t *testing.T) {
	t.Parallel()
	const nodes = 20
	server := pgtest.Shared(t)
	database := server.Database(t)
	store := openPostgres(t, server.URL(database))
	write(t, store, rulestoretest.Version(1))
	var watchers []*rules.Watcher
	for range nodes {
		w := rules.NewWatcher(openPostgres(t, server.URL(database)), rules.Options{Poll: time.Hour})
		t.Cleanup(func() { _ = w.Close() })
		<-w.Loaded()
		watchers = append(watchers, w)
	}
	sql := connect(t, server.URL(database))
	sql.exec(t, `CREATE ROLE support; GRANT SELECT, INSERT, UPDATE, DELETE ON rate_limit_limits, rate_limit_overrides,
		rate_limit_tier_assignments, rate_limit_access, rate_limit_emergency TO support;
		CREATE USER alice IN ROLE support`)
	alice := connect(t, strings.Replace(server.URL(database), "postgres@", "alice@", 1))

	before := rulestoretest.Version(1).Document
	for i, test := range []struct {
		statements string
		change     func(d *rules.Document)
	}{
		{"DELETE FROM rate_limit_overrides WHERE id = 'p-1'", func(d *rules.Document) { d.Overrides = d.Overrides[:1] }},
		{"UPDATE rate_limit_overrides SET multiplier = 5, concurrent = 7 WHERE key = 'sk_live_<1>'", func(d *rules.Document) {
			d.Overrides[0].Multiplier, d.Overrides[0].Concurrent = 5, 7
		}},
		{
			`INSERT INTO rate_limit_overrides (id, zone, key, rate_limit, created_at, created_by)
				VALUES ('x', 'user', 'sk_live_2', '5000/1m', NULL, ''), ('y', 'user', 'sk_live_3', 'block', NULL, '')`,
			func(d *rules.Document) {
				d.Overrides = append(d.Overrides,
					&rules.Override{Entry: rules.Entry{ID: "x"}, Key: rules.Key{Zone: "user", Text: "sk_live_2"}, Limit: "5000/1m"},
					&rules.Override{Entry: rules.Entry{ID: "y"}, Key: rules.Key{Zone: "user", Text: "sk_live_3"}, Limit: "block"})
			},
		},
		{"UPDATE rate_limit_tier_assignments SET id = 'other', tier = 'free'", func(d *rules.Document) {
			d.Tiers[0].ID, d.Tiers[0].Tier = "other", "free"
		}},
		{
			`INSERT INTO rate_limit_access (id, action, address, created_at, created_by)
				VALUES ('z', 'deny', '2001:db8::/32', NULL, '')`, func(d *rules.Document) {
				d.Access = append(d.Access, &rules.AccessEntry{Entry: rules.Entry{ID: "z"}, Action: rules.Deny, Address: "2001:db8::/32"})
			},
		},
		{
			`INSERT INTO rate_limit_limits (zone, rate_limit) VALUES ('user', '7/1s')
				ON CONFLICT (zone, endpoint, tier) DO UPDATE SET rate_limit = excluded.rate_limit`,
			func(d *rules.Document) { d.Zones["user"].Limit = "7/1s" },
		},
		{"TRUNCATE rate_limit_emergency", nil}, // alice may not
		{
			`BEGIN; DELETE FROM rate_limit_emergency; DELETE FROM rate_limit_limits; SAVEPOINT s;
			DELETE FROM rate_limit_access; ROLLBACK TO s; COMMIT`,
			func(d *rules.Document) { d.Emergency, d.Zones = nil, nil },
		},
	} {
		who, author := alice, "alice"
		if test.change == nil {
			who, author = sql, "postgres"
			test.change = func(d *rules.Document) { d.Emergency = nil }
		}
		number := int64(i) + 2
		test.change(before)
		began := time.Now()
		who.exec(t, test.statements)
		for _, w := range watchers {
			for w.Latest().Number < number && time.Since(began) < 2*time.Second {
				awaitTransition(w)
			}
			v := w.Latest()
			if v.Number != number || v.Author != author || v.Note != "SQL" || time.Since(v.Time).Abs() > time.Minute {
				t.Fatalf("after %v the version in force is %d of %q with the note %q at %v, want %d of %s with the note SQL",
					time.Since(began), v.Number, v.Author, v.Note, v.Time, number, author)
			}
			if !reflect.DeepEqual(v.Document, before) {
				t.Fatalf("%s: the document = %+v, want %+v", test.statements, v.Document, before)
			}
		}
		if got := latest(t, openPostgres(t, server.URL(database))); !reflect.DeepEqual(got.Document, before) {
			t.Errorf("%s: the document of a new store = %+v, want %+v", test.statements, got.Document, before)
		}
	}
	old, err := store.Version(t.Context(), 1)
	if err != nil || !reflect.DeepEqual(old, rulestoretest.Version(1)) {
		t.Errorf("version 1 after all = %+v, %v, want it as written", old, err)
	}

	history, err := store.History(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range history {
		if v.Lineage != rulestoretest.Version(1).Lineage {
			t.Errorf("version %d has the lineage %q, want that of the version before", v.Number, v.Lineage)
		}
	}
	if got, want := summaryOf(history, 3), "rate_limit_overrides: 1 added, 1 removed"; got != want {
		t.Errorf("the summary of version 3 = %q, want %q", got, want)
	}

	// These statements change nothing.
	alice.exec(t, "UPDATE rate_limit_overrides SET reason = reason; DELETE FROM rate_limit_overrides WHERE id = 'none'")
	alice.exec(t, "BEGIN; DELETE FROM rate_limit_overrides; ROLLBACK")
	if v := latest(t, store); v.Number != 9 {
		t.Errorf("after statements that change nothing the newest version = %d, want 9", v.Number)
	}
}

func summaryOf(history []*rules.Version, number int64) string {
	for _, v := range history {
		if v.Number == number {
			return v.Summary
		}
	}
	return ""
}

// awaitTransition waits for the next version, for half a second at most.
func awaitTransition(w *rules.Watcher) {
	changed := make(chan struct{}, 100)
	calls := 0
	cancel := w.Subscribe(func(rules.Transition) {
		if calls++; calls > 1 { // the first one is the version in force
			changed <- struct{}{}
		}
	})
	defer cancel()
	select {
	case <-changed:
	case <-time.After(500 * time.Millisecond):
	}
}

// TestPostgresSQLAndNodes has people and nodes write at the same time. Nothing is lost.
func TestPostgresSQLAndNodes(t *testing.T) {
	t.Parallel()
	const writers, changes = 4, 10
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	store := openPostgres(t, url)
	latest(t, store)
	var all sync.WaitGroup
	for i := range writers {
		sql := connect(t, url)
		all.Go(func() {
			for n := range changes {
				_, err := sql.Exec(t.Context(), `INSERT INTO rate_limit_overrides (id, zone, key, rate_limit)
					VALUES ($1, 'z', 'k', '1/1s')`, fmt.Sprintf("sql %d %d", i, n))
				if err != nil {
					t.Error(err)
				}
			}
		})
		w := rules.NewWatcher(openPostgres(t, url), rules.Options{})
		t.Cleanup(func() { _ = w.Close() })
		all.Go(func() {
			for n := range changes {
				_, err := w.Update(t.Context(), rules.Change{Apply: func(d *rules.Document) error {
					d.Overrides = append(d.Overrides, &rules.Override{
						Entry: rules.Entry{ID: fmt.Sprintf("node %d %d", i, n)}, Key: rules.Key{Zone: "z", Text: "k"}, Limit: "1/1s",
					})
					return nil
				}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	const want = 2 * writers * changes
	if v := latest(t, openPostgres(t, url)); v.Number != want || len(v.Document.Overrides) != want {
		t.Errorf("version %d has %d overrides, want %d of both", v.Number, len(v.Document.Overrides), want)
	}
}

// TestPostgresChecks tries rows that no document can have.
func TestPostgresChecks(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	store := openPostgres(t, url)
	latest(t, store)
	sql := connect(t, url)
	for statement, problem := range map[string]string{
		"INSERT INTO rate_limit_limits (zone, rate_limit) VALUES ('', '1/1s')":                                  "zone_check",
		"INSERT INTO rate_limit_limits (zone, tier, dry_run) VALUES ('z', 'pro', '5%')":                         "rate_limit_limits_check",
		"INSERT INTO rate_limit_limits (zone, endpoint, compare_limit) VALUES ('z', '/a', '1/1s')":              "compare_is_of_zone",
		"INSERT INTO rate_limit_overrides (zone, key) VALUES ('z', 'k')":                                        "either_rate_limit_or_multiplier",
		"INSERT INTO rate_limit_overrides (zone, key, rate_limit, multiplier) VALUES ('z', 'k', '1/1s', 2)":     "either_rate_limit_or_multiplier",
		"INSERT INTO rate_limit_overrides (zone, key, multiplier) VALUES ('z', 'k', 'NaN')":                     "multiplier_check",
		"INSERT INTO rate_limit_overrides (zone, key, multiplier) VALUES ('z', 'k', -1)":                        "multiplier_check",
		"INSERT INTO rate_limit_overrides (zone, key, concurrent) VALUES ('z', 'k', 0)":                         "concurrent_check",
		"INSERT INTO rate_limit_overrides (zone, key, key_base64, multiplier) VALUES ('z', 'k', 'aw==', 2)":     "either_key_or_key_base64",
		"INSERT INTO rate_limit_overrides (zone, key, multiplier, expires_at) VALUES ('z', 'k', 2, 'infinity')": "expires_at_check",
		"INSERT INTO rate_limit_tier_assignments (zone, key, tier) VALUES ('z', 'k', '')":                       "tier_check",
		"INSERT INTO rate_limit_access (action, address) VALUES ('forbid', '192.0.2.1')":                        "action_check",
		"INSERT INTO rate_limit_access (action, address) VALUES ('deny', '192.0.2.300')":                        "invalid input syntax for type inet",
		"INSERT INTO rate_limit_access (action, address, zone) VALUES ('deny', '192.0.2.1', 'z')":               "either_address_or_zone",
		"INSERT INTO rate_limit_emergency (rate_limit) VALUES ('')":                                             "rate_limit_check",
		"INSERT INTO rate_limit_emergency (id, rate_limit) VALUES ('two', '1/1s')":                              "id_check",
	} {
		if _, err := sql.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: error = %v, want %s", statement, err, problem)
		}
	}
	if v := latest(t, store); v.Number != 0 {
		t.Errorf("refused rows have made version %d", v.Number)
	}
	sql.exec(t, `INSERT INTO rate_limit_overrides (zone, key, multiplier, expires_at) VALUES ('z', 'k', 2, '9999-12-31')`)
	if o := latest(t, store).Document.Overrides; len(o) != 1 || o[0].ID == "" || o[0].CreatedBy != "postgres" ||
		time.Since(o[0].CreatedAt).Abs() > time.Minute {
		t.Errorf("the override = %+v, want one with an ID and who has created it when", o[0])
	}
}
