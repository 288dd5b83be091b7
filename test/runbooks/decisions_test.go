package runbooks

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestDecisionsUnrecorded has a program that holds the table, so that records are dropped. Each request makes
// many records, because many zones decide it.
func TestDecisionsUnrecorded(t *testing.T) {
	server := pgtest.NewServer(t)
	t.Setenv("RULES_DATABASE_URL", server.URL("postgres"))
	zones := nodetest.UserSite("1/1h")
	for i := range 50 {
		zones += fmt.Sprintf("\n\trate_limit {\n\t\tzone trial%d {\n\t\t\tkey all\n\t\t\tlimit block\n\t\t\tdry_run\n\t\t}\n\t}", i)
	}
	n := nodetest.Start(t, "rules postgres {env.RULES_DATABASE_URL}\ndecisions postgres", zones)
	w := begin(t, "decisions-unrecorded.md", n)
	n.AwaitStatus(429, "sk_live_1")
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) error {
		_, err := conn.Exec(t.Context(), statement)
		return err
	}
	redistest.Eventually(t, "the lock of the table", func() bool {
		return exec("BEGIN; LOCK TABLE rate_limit_decisions IN SHARE MODE") == nil || exec("ROLLBACK") != nil
	})
	stop := send(n, func(i int) string { return fmt.Sprint("key", i) }) // the zone admits each of these keys
	n.Await("records that are dropped", func() bool {
		return n.Metric(`caddy_rate_limit_decisions_unrecorded_total{to="postgres"}`) > 0
	})
	w.has(w.next("caddy rate-limit status"), "rules postgres", "failed polls 0")
	redistest.Eventually(t, "a writer that waits for the lock", func() bool {
		var waiting bool
		err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)").Scan(&waiting)
		return err == nil && waiting
	})
	w.has(w.next("psql"), fmt.Sprintf("active | Lock | {%d}", conn.PgConn().PID()))
	w.has(w.next("caddy rate-limit top user --by rejected"), "sk…")
	stop()
	if err := exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	recorded := func() float64 { return n.Metric(`caddy_rate_limit_decisions_recorded_total{to="postgres"}`) }
	n.Await("the records that have waited", func() bool { return recorded() > 1000 })
	w.has(w.next("psql"), " | ", "(1 row)")
}
