package decisionlog

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A database reads and locks the table of decisions for a test.
type database struct {
	t    *testing.T
	conn *pgx.Conn
}

func openDatabase(t *testing.T, server *pgtest.Server) *database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return &database{t, conn}
}

func (d *database) exec(statement string) {
	d.t.Helper()
	if _, err := d.conn.Exec(d.t.Context(), statement); err != nil {
		d.t.Fatalf("%v: %s", err, statement)
	}
}

// await waits until the table has this many different rows. The test fails if the table has more.
func (d *database) await(rows int) {
	d.t.Helper()
	found := 0
	redistest.Eventually(d.t, fmt.Sprint(rows, " rows"), func() bool {
		err := d.conn.QueryRow(d.t.Context(), "SELECT count(DISTINCT path) FROM rate_limit_decisions").Scan(&found)
		return err == nil && found >= rows
	})
	if found != rows {
		d.t.Errorf("%d rows, want %d", found, rows)
	}
}

// TestPostgresIsSlowAndGone records decisions in a database that answers, then keeps writers
// waiting, then is killed and comes back. Put never waits for the database. Records that find no
// room are dropped and counted. All others are written once.
func TestPostgresIsSlowAndGone(t *testing.T) {
	server := pgtest.NewServer(t)
	opened, err := rulestore.OpenDecisions(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	o := new(testObserver)
	r := newRecorder(newTable(opened, time.Hour), o, 10*time.Millisecond)
	defer r.Close()
	number := 0
	record := func(n int) {
		t.Helper()
		start := time.Now()
		for range n {
			if number++; !r.Full(false) {
				r.Put(Record{Decision: &api.Decision{
					Time: start, Zone: "user", Outcome: api.Rejected, Request: api.Request{Path: fmt.Sprint(number)}}})
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%d records take %v", n, took)
		}
	}
	counts := func() (recorded, dropped uint64, told string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.recorded, o.dropped, fmt.Sprint(o.told)
	}

	record(3000)
	reader := openDatabase(t, server)
	reader.await(3000)

	// Slow: a transaction locks the table.
	locker := openDatabase(t, server)
	locker.exec("BEGIN; LOCK TABLE rate_limit_decisions IN SHARE MODE")
	record(100)
	redistest.Eventually(t, "a write that waits", func() bool { return r.queue.length.Load() == 0 })
	record(room + 700)
	locker.exec("COMMIT")
	reader.await(3000 + 100 + room)
	redistest.Eventually(t, "the counts", func() bool {
		recorded, dropped, _ := counts()
		return recorded == 3000+100+room && dropped == 700
	})

	// Gone.
	server.Kill()
	record(10)
	redistest.Eventually(t, "a failure", func() bool {
		_, _, told := counts()
		return told != "[]"
	})
	record(20)
	server.Restart(t)
	openDatabase(t, server).await(3000 + 100 + room + 30)
	redistest.Eventually(t, "the recovery", func() bool {
		recorded, _, _ := counts()
		return recorded == 3000+100+room+30
	})
	_, dropped, told := counts()
	if last := told[max(0, len(told)-len("recovered]")):]; dropped != 700 || last != "recovered]" {
		t.Errorf("%d dropped, told %s; want 700, and that it has recovered", dropped, cmp.Or(told, "nothing"))
	}
}
