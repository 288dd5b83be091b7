package rulestore_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

// openPostgres returns a store that is closed after the test.
func openPostgres(t testing.TB, url string) *rulestore.Postgres {
	t.Helper()
	store, err := rulestore.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// latest returns the newest version.
func latest(t *testing.T, store rules.VersionStore) *rules.Version {
	t.Helper()
	v, err := store.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// write writes a version after the newest one.
func write(t *testing.T, store rules.VersionStore, v *rules.Version) {
	t.Helper()
	if err := store.Write(t.Context(), v, v.Number-1); err != nil {
		t.Fatalf("writing version %d: %v", v.Number, err)
	}
}

// postgresFixture returns a database of its own.
func postgresFixture(t testing.TB, server *pgtest.Server) rulestoretest.Fixture {
	t.Helper()
	url := server.URL(server.Database(t))
	return rulestoretest.Fixture{Open: func() rules.VersionStore { return openPostgres(t, url) }}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture { return postgresFixture(t, server) })
}

// By default, this server does not wait until its log is on disk. The store makes it wait.
func TestPostgresCrash(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, "synchronous_commit = off", "wal_writer_delay = 10s")
	rulestoretest.Crash(t, postgresFixture(t, server), func() { server.Kill(); server.Restart(t) })
}

// TestPostgresOfKilledNode kills nodes while they write. What they have acknowledged is there and
// whole, and the next node can write.
func TestPostgresOfKilledNode(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	for i := range 3 {
		url := server.URL(server.Database(t))
		last := killNode(t, url, time.Duration(i)*time.Millisecond)
		store := openPostgres(t, url)
		v := latest(t, store)
		if v.Number != last && v.Number != last+1 || !reflect.DeepEqual(v, rulestoretest.Version(v.Number)) {
			t.Errorf("the newest version = %+v, want %d or one more", v, last)
		}
		write(t, store, rulestoretest.Version(v.Number+1))
	}
}

// TestPostgresOrder moves, inserts and removes overrides.
func TestPostgresOrder(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	one, other := openPostgres(t, url), openPostgres(t, url)
	for i, ids := range []string{"abc", "cab", "cxab", "c", "cde", "edc", "", "edc"} {
		v := &rules.Version{Number: int64(i) + 1, Document: new(rules.Document)}
		for _, id := range ids {
			v.Document.Overrides = append(v.Document.Overrides, &rules.Override{
				Entry: rules.Entry{ID: string(id)}, Key: rules.Key{Zone: "user", Text: "k"}, Limit: "1/1s",
			})
		}
		write(t, one, v)
		for name, store := range map[string]rules.VersionStore{"that follows": other, "that has read nothing": openPostgres(t, url)} {
			if got := latest(t, store).Document; !reflect.DeepEqual(got, v.Document) {
				t.Errorf("version %d at a store %s has the overrides %s, want %s", v.Number, name, overrideIDs(got), ids)
			}
		}
	}
	for number, ids := range map[int64]string{1: "abc", 2: "cab", 5: "cde", 7: ""} {
		v, err := other.Version(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		if got := overrideIDs(v.Document); got != ids {
			t.Errorf("version %d has the overrides %q, want %q", number, got, ids)
		}
	}
}

func overrideIDs(d *rules.Document) (ids string) {
	for _, o := range d.Overrides {
		ids += o.ID
	}
	return ids
}

// TestPostgresKeepsEmptyPlaces writes a document with places that replace nothing.
func TestPostgresKeepsEmptyPlaces(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	v := &rules.Version{Number: 1, Document: &rules.Document{Zones: map[string]*rules.ZoneChange{
		"empty":    {},
		"dry":      {DryRun: "5%"},
		"compare":  {Compare: &rules.Comparison{Algorithm: "fixed_window"}, Tiers: map[string]string{"pro": "1/1s"}},
		"tier":     {Tiers: map[string]string{"pro": "1/1s"}},
		"endpoint": {Endpoints: map[string]*rules.Endpoint{"/v1": {}, "/v2": {Tiers: map[string]string{"pro": ""}}}},
	}}}
	write(t, openPostgres(t, url), v)
	if got := latest(t, openPostgres(t, url)).Document; !reflect.DeepEqual(got, v.Document) {
		t.Errorf("the document = %+v, want %+v", got.Zones, v.Document.Zones)
	}
}

// TestPostgresWritesWhatDiffers changes one of 1000 overrides.
func TestPostgresWritesWhatDiffers(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	database := server.Database(t)
	store := openPostgres(t, server.URL(database))
	first := rulestoretest.Version(1)
	for i := range 1000 {
		o := *first.Document.Overrides[0]
		o.ID = fmt.Sprint("many", i)
		first.Document.Overrides = append(first.Document.Overrides, &o)
	}
	write(t, store, first)
	second := *first
	second.Number, second.Document = 2, first.Document.Clone()
	changed := *first.Document.Overrides[500]
	changed.Reason = "changed"
	second.Document.Overrides[500] = &changed
	write(t, store, &second)
	server.Exec(t, database, `DO $$ BEGIN
		ASSERT (SELECT count(*) = 2 FROM rate_limit_events WHERE version = 2), 'two events';
		ASSERT (SELECT count(*) = 1 FROM rate_limit_overrides
			WHERE xmin <> (SELECT xmin FROM rate_limit_overrides WHERE id = 'many1')), 'one row of version 2';
	END $$`)
}

// TestPostgresKeepsThousandVersions has SQL write, because it is fast.
func TestPostgresKeepsThousandVersions(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	database := server.Database(t)
	store := openPostgres(t, server.URL(database))
	write(t, store, rulestoretest.Version(1))
	server.Exec(t, database, `CREATE PROCEDURE change() LANGUAGE plpgsql AS $$ BEGIN
		FOR i IN 2..1005 LOOP
			UPDATE rate_limit_overrides SET reason = i::text;
			COMMIT;
		END LOOP;
	END $$`)
	server.Exec(t, database, "CALL change()")
	v := latest(t, store)
	if v.Number != 1005 || v.Document.Overrides[0].Reason != "1005" {
		t.Errorf("the newest version is %d with the reason %q, want 1005", v.Number, v.Document.Overrides[0].Reason)
	}
	history, err := store.History(t.Context(), 0, 2000)
	if err != nil || len(history) != 1000 || history[999].Number != 6 {
		t.Fatalf("the history has %d versions, %v, want 1000 from 6", len(history), err)
	}
	if v, err = store.Version(t.Context(), 6); err != nil || v.Document.Overrides[0].Reason != "6" {
		t.Errorf("version 6 = %+v, %v, want the reason 6", v, err)
	}
	server.Exec(t, database, `DO $$ BEGIN
		ASSERT (SELECT min(version) = 6 FROM rate_limit_events), 'no events of versions that are gone';
	END $$`)
}

// TestPostgresNodesStartTogether has many nodes make the tables at the same time.
func TestPostgresNodesStartTogether(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	var nodes sync.WaitGroup
	for range 10 {
		store := openPostgres(t, url)
		nodes.Go(func() {
			if v, err := store.Latest(t.Context()); err != nil || v.Number != 0 {
				t.Errorf("Latest = %v, %v, want no version", v, err)
			}
		})
	}
	nodes.Wait()
}

// TestPostgresRestored replaces the database by an empty one, and by one with another version of
// the same number.
func TestPostgresRestored(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	database := server.Database(t)
	store := openPostgres(t, server.URL(database))
	write(t, store, rulestoretest.Version(1))
	latest(t, store)
	server.Exec(t, database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	if _, err := store.Latest(t.Context()); err == nil {
		t.Error("Latest without tables = nil, want an error")
	}
	if v := latest(t, store); v.Number != 0 {
		t.Errorf("the newest version in an empty database = %d, want none", v.Number)
	}
	other := rulestoretest.Version(2)
	other.Number = 1
	write(t, openPostgres(t, server.URL(database)), other)
	if v := latest(t, store); !reflect.DeepEqual(v, other) {
		t.Errorf("the newest version = %+v, want the other one with the number 1", v)
	}
}

// TestPostgresHung has a writer in SQL that does not end its transaction.
func TestPostgresHung(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	database := server.Database(t)
	store := openPostgres(t, server.URL(database))
	write(t, store, rulestoretest.Version(1))
	sql := connect(t, server.URL(database))
	sql.exec(t, "BEGIN")
	sql.exec(t, "DELETE FROM rate_limit_overrides")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := store.Write(ctx, rulestoretest.Version(2), 1); err == nil {
		t.Error("Write beside an open transaction = nil, want an error")
	}
	if err := store.Write(t.Context(), rulestoretest.Version(2), 1); err == nil || !strings.Contains(err.Error(), "COMMIT or ROLLBACK") {
		t.Errorf("Write beside an open transaction = %v, want one that says what to do", err)
	}
	if v := latest(t, store); v.Number != 1 || len(v.Document.Overrides) != 2 {
		t.Errorf("version %d has %d overrides, want those of version 1", v.Number, len(v.Document.Overrides))
	}
	sql.exec(t, "ROLLBACK")
	write(t, store, rulestoretest.Version(2))
}
