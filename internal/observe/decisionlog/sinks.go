package decisionlog

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// A logSink writes records to Caddy's log. It does not learn whether Caddy has written them.
type logSink struct{ observer Observer }

func (logSink) name() string { return config.DecisionsToLog }

func (s logSink) write(_ context.Context, records []Record) (final bool, err error) {
	for i := range records {
		s.observer.LogDecision(&records[i])
	}
	return true, nil
}

func (logSink) tidy(context.Context) (more bool, err error) { return false, nil }

func (logSink) close() {}

// A table writes records to a table in PostgreSQL.
type table struct {
	*rulestore.Decisions
	run  uint64 // first half of the IDs; random, so that no two recorders write one ID
	keep time.Duration
}

func newTable(t *rulestore.Decisions, keep time.Duration) *table {
	return &table{t, rand.Uint64(), keep}
}

func (*table) name() string { return config.DecisionsToPostgres }

func (t *table) write(ctx context.Context, records []Record) (final bool, err error) {
	rows := make([]rulestore.DecisionRow, len(records))
	for i := range records {
		rows[i] = t.row(&records[i])
	}
	err = t.Write(ctx, rows)
	return rulestore.IsRefused(err), err
}

// row returns the row of a record.
func (t *table) row(r *Record) rulestore.DecisionRow {
	row := rulestore.DecisionRow{
		ID: t.id(r.Number), Time: r.Time, Node: r.Node, Zone: r.Zone, Endpoint: r.Endpoint, Tier: r.Tier, Outcome: r.Outcome,
		Source: r.Source, Reason: r.Reason, KeyHash: r.KeyHash, Key: r.Key, Base64: r.Base64, RemoteIP: r.RemoteIP,
		ClientIP: r.ClientIP, Method: r.Method, Host: r.Host, Path: r.Path, Status: unlessZero(r.Status),
		WouldBe: unlessZero(r.WouldBe), Cost: cmp.Or(r.Cost, 1), Limit: r.Limit, Remaining: r.Remaining,
	}
	row.Wait, row.Waited = interval(r.Wait), interval(r.Waited)
	return row
}

// interval returns a time in the syntax of PostgreSQL's intervals, or nil if the time is 0.
func interval(wait api.Wait) *string {
	if wait == 0 {
		return nil
	}
	text := fmt.Sprintf("%.6f seconds", time.Duration(wait).Seconds())
	return &text
}

// id returns the ID of a record, a UUID. The IDs of one recorder ascend, which keeps its rows
// together in the index.
func (t *table) id(number uint64) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], t.run)
	binary.BigEndian.PutUint64(id[8:], number)
	return hex.EncodeToString(id[:])
}

func unlessZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// removedAtOnce is the highest number of old rows that one call of tidy removes. While there are
// more old rows, a call comes each second, in which a node records fewer rows.
const removedAtOnce = 2 * room

func (t *table) tidy(ctx context.Context) (more bool, err error) {
	removed, err := t.Remove(ctx, t.keep, removedAtOnce)
	return removed == removedAtOnce, err
}

func (t *table) close() { t.Close() }
