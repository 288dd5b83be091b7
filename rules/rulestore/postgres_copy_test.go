package rulestore_test

import (
	"strings"
	"testing"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestPostgresRestoredBeforeStart starts a node that has a copy of version 2, before its server. If
// the server has version 1, somebody has restored a backup, and version 1 stays. An empty database
// gets version 2.
func TestPostgresRestoredBeforeStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ restored, want int64 }{"a backup": {1, 1}, "nothing": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, address := pgtest.Shared(t), redistest.FreeAddr()
			url := server.URL(server.Database(t))
			store, kept := openPostgres(t, url), rulestore.NewCopy(&certmagic.FileStorage{Path: t.TempDir()}, "x")
			if tc.restored > 0 {
				write(t, store, rulestoretest.Version(1))
			}
			write(t, kept, rulestoretest.Version(1))
			write(t, kept, rulestoretest.Version(2))
			inForce := make(chan int64, 1)
			w := rules.NewWatcher(openPostgres(t, strings.Replace(url, server.Addr, address, 1)), rules.Options{
				Copy: kept, Durable: true, OnCopyInForce: func(v *rules.Version) { inForce <- v.Number },
			})
			t.Cleanup(func() { _ = w.Close() })
			if number := <-inForce; number != 2 {
				t.Errorf("version %d of the copy is in force, want 2", number)
			}
			forward(t, address, server.Addr)
			<-w.Loaded()
			if node, database := w.Latest().Number, latest(t, store).Number; node != tc.want || database != tc.want {
				t.Errorf("version %d is in force and %d is in PostgreSQL, want %d", node, database, tc.want)
			}
			redistest.Eventually(t, "the copy", func() bool {
				v, err := kept.Latest(t.Context())
				return err == nil && v.Number == tc.want
			})
		})
	}
}

// The place of a database does not change with its user and password. It has no password.
func TestPostgresPlace(t *testing.T) {
	place := func(url string) string {
		t.Helper()
		return openPostgres(t, url).Place()
	}
	const url = "postgres://node:secret@192.0.2.1:5432,192.0.2.2:5433/rules?search_path=limits"
	got := place(url)
	if other := place(strings.Replace(url, "node:secret", "other:pass", 1)); got != other || strings.Contains(got, "secret") {
		t.Errorf("place = %q, and with another user %q", got, other)
	}
	for _, part := range []string{"192.0.2.1", "192.0.2.2", "5432", "5433", "/rules", "limits"} {
		if other := place(strings.Replace(url, part, part[:len(part)-1]+"4", 1)); got == other {
			t.Errorf("the place %q is the same with another %s", got, part)
		}
	}
}
