package rulestore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/rules"
)

// rowsPerStatement bounds the size of a statement.
const rowsPerStatement = 10_000

// beginWrite has the statements that make a transaction the only one that writes. A node that
// vanishes meanwhile does not keep the lock for more than ten seconds. What is acknowledged is on
// disk, however the database is set up. The lock comes last, in a statement of its own, because
// statements after it must see what others have written before.
var beginWrite = []string{
	`SELECT set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '10s', true)`,
	`SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`,
	`SELECT rate_limit_lock()`,
}

// Write implements [rules.VersionStore].
func (p *Postgres) Write(ctx context.Context, v *rules.Version, after int64) error {
	var written *snapshot
	write := func(tx pgx.Tx) (err error) {
		written, err = p.write(ctx, tx, v, after)
		return err
	}
	err := p.do(ctx, pgx.TxOptions{}, write)
	if hasCode(err, deadlockDetected) { // a deadlock with somebody who locks rows in SQL before changing them
		err = p.do(ctx, pgx.TxOptions{}, write)
	}
	p.remember(written) // nil, so that all is read again, if what was known may be wrong
	return err
}

// write writes v, and returns the newest version with its rows. It returns nil if these are not
// known.
func (p *Postgres) write(ctx context.Context, tx pgx.Tx, v *rules.Version, after int64) (*snapshot, error) {
	for _, statement := range beginWrite {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	last, err := p.newest(ctx, tx)
	if err != nil {
		return nil, err
	}
	if last == nil {
		last = new(snapshot) // its document is nil, so that all is written
	}
	if last.Number != after || v.Number <= after {
		return last, fmt.Errorf("%w: PostgreSQL has version %d", rules.ErrConflict, last.Number)
	}
	var actions []byte
	if len(v.Actions) > 0 {
		if actions, err = json.Marshal(v.Actions); err != nil {
			return nil, err
		}
	}
	written := &snapshot{Version: *v, tables: make(map[string][]*row)}
	written.Time = instantOf(&v.Time)
	var now time.Time
	err = tx.QueryRow(ctx, "SELECT rate_limit_transaction(), clock_timestamp() "+
		"FROM rate_limit_write_version($1, $2, $3, $4, $5, $6, $7)",
		v.Number, v.Time, v.Author, v.Note, v.Summary, v.Lineage, actions).Scan(&written.transaction, &now)
	if err != nil {
		return nil, err
	}
	if v.Document == last.Document { // the version has only actions
		written.tables = last.tables
		return written, nil
	}
	rows := rowsOf(v.Document, last)
	for _, table := range ruleTables {
		change := newTableChange(table.name, last.tables[table.name], rows[table.name], now)
		written.tables[table.name] = change.rows
		if err := change.apply(ctx, tx, table.primaryKey); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// A tableChange is what changes the rows of a table into other rows.
type tableChange struct {
	table          string
	removed, added []*row
	rows           []*row // the rows after the change
}

// newTableChange compares the rows of a table with those that it is to have, in their order. It
// sets positions: a row keeps its own if that is after the row before it.
func newTableChange(table string, old, wanted []*row, now time.Time) *tableChange {
	c := &tableChange{table: table, rows: make([]*row, 0, len(wanted))}
	changes := rules.Splices(old, wanted)
	if len(changes) == 0 {
		c.rows = old
		return c
	}
	ordered := table != limitsTable && table != emergencyTable
	replaced := make(map[rowID]*row)
	for _, s := range changes {
		for _, r := range old[s.At : s.At+s.Remove] {
			replaced[r.primaryKey(table)] = r
		}
	}
	next, before := now.UnixMicro(), new(row) // next is the default of the column position
	for _, r := range old {
		next = max(next, r.Position+1)
	}
	place := func(r, was *row) {
		if ordered {
			position := next
			if was != nil && was.compare(before) > 0 {
				position = was.Position
			} else {
				next++
			}
			if r == was && r.Position != position {
				moved := *r // other snapshots use the row
				r = &moved
			}
			if r != was {
				r.Position = position
			}
			before = r
		}
		switch {
		case was != nil && was.equal(r):
			r = was // one copy in memory
		case was != nil:
			c.removed = append(c.removed, was)
			fallthrough
		default:
			c.added = append(c.added, r)
		}
		c.rows = append(c.rows, r)
	}
	kept := 0
	for _, s := range append(changes, rules.Splice[*row]{At: len(old)}) {
		for _, r := range old[kept:s.At] {
			place(r, r)
		}
		for _, r := range s.Insert {
			id := r.primaryKey(table)
			place(r, replaced[id])
			delete(replaced, id)
		}
		kept = s.At + s.Remove
	}
	c.removed = slices.AppendSeq(c.removed, maps.Values(replaced))
	return c
}

// apply removes and adds the rows that differ.
func (c *tableChange) apply(ctx context.Context, tx pgx.Tx, primaryKey string) error {
	of := func(alias string) string { return alias + "." + strings.ReplaceAll(primaryKey, ", ", ", "+alias+".") }
	rows := fmt.Sprintf("jsonb_populate_recordset(jsonb_populate_record(NULL::%s, '%s'), $1)", c.table, emptyRow)
	remove := fmt.Sprintf("DELETE FROM %s t USING %s r WHERE (%s) = (%s)", c.table, rows, of("t"), of("r"))
	add := fmt.Sprintf("INSERT INTO %s SELECT * FROM %s", c.table, rows)
	for _, step := range []struct {
		statement string
		rows      []*row
	}{{remove, c.removed}, {add, c.added}} {
		for chunk := range slices.Chunk(step.rows, rowsPerStatement) {
			text, err := json.Marshal(chunk)
			if err != nil {
				return err
			}
			done, err := tx.Exec(ctx, step.statement, text)
			if err != nil {
				return err
			}
			if done.RowsAffected() != int64(len(chunk)) {
				return fmt.Errorf("%s does not have the rows that its history tells of: "+
					"use triggers whenever it changes, also when it is restored", c.table)
			}
		}
	}
	return nil
}
