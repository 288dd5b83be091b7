package rulestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A snapshot is a version with its rows. It never changes. The rows of a list are in the order of
// its entries.
type snapshot struct {
	rules.Version
	transaction string // the transaction that wrote the version
	tables      map[string][]*row
}

// selectVersions selects versions. A version that was written in SQL has no summary, so the query
// counts the rows that it has changed.
const selectVersions = `SELECT version, time, author, note, coalesce(summary, (
		SELECT string_agg(format('%s: %s added, %s removed', table_name, added, removed), '; ') FROM (
			SELECT e.table_name, count(*) FILTER (WHERE e.added) added, count(*) FILTER (WHERE NOT e.added) removed
			FROM rate_limit_events e WHERE e.version = v.version GROUP BY e.table_name ORDER BY e.table_name
		) changed), ''), lineage, actions, transaction
	FROM rate_limit_versions v `

// scanVersion reads a row of selectVersions.
func scanVersion(r pgx.CollectableRow) (*snapshot, error) {
	s := new(snapshot)
	var actions []byte
	err := r.Scan(&s.Number, &s.Time, &s.Author, &s.Note, &s.Summary, &s.Lineage, &actions, &s.transaction)
	if err == nil && actions != nil {
		err = json.Unmarshal(actions, &s.Actions)
	}
	s.Time = s.Time.UTC()
	return s, err
}

// one returns the version that where selects, or nil if there is none.
func one(ctx context.Context, tx pgx.Tx, where string, args ...any) (*snapshot, error) {
	found, err := tx.Query(ctx, selectVersions+where, args...)
	if err != nil {
		return nil, err
	}
	s, err := pgx.CollectExactlyOneRow(found, scanVersion)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return s, err
}

// readNewest returns the newest version, or nil if there is none. If the database still has the
// version known, readNewest reads only what has changed since. known may be nil.
func readNewest(ctx context.Context, tx pgx.Tx, known *snapshot) (*snapshot, error) {
	s, err := one(ctx, tx, "ORDER BY version DESC LIMIT 1")
	if s == nil || err != nil {
		return nil, err
	}
	if known != nil {
		kept, err := one(ctx, tx, "WHERE version = $1 AND transaction = $2", known.Number, known.transaction)
		switch {
		case err != nil:
			return nil, err
		case kept != nil && known.Number == s.Number:
			return known, nil
		case kept != nil:
			return s, s.deriveFrom(ctx, tx, known)
		}
	}
	s.tables, s.Document = make(map[string][]*row), new(rules.Document)
	for _, table := range ruleTables {
		rows, bound := make(map[rowID]*row), rowBound{rows: rules.MaxEntries}
		found, err := tx.Query(ctx, "SELECT to_jsonb(t) FROM "+table.name+" t")
		if err != nil {
			return nil, err
		}
		var text []byte
		_, err = pgx.ForEachRow(found, []any{&text}, func() error {
			r, err := bound.decode(text)
			if err == nil {
				rows[r.primaryKey(table.name)] = r
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		s.tables[table.name] = changePart(s.Document, table.name, nil, rows)
	}
	return s, nil
}

// deriveFrom sets the tables and the document of s, from those of another version and the events
// between the two. The database has both versions, and so all events between them. s shares with
// other what no event has changed.
func (s *snapshot) deriveFrom(ctx context.Context, tx pgx.Tx, other *snapshot) error {
	forward, order := s.Number > other.Number, "id"
	if !forward {
		order = "id DESC"
	}
	events, err := tx.Query(ctx, "SELECT table_name, added, entry FROM rate_limit_events "+
		"WHERE version > $1 AND version <= $2 ORDER BY "+order, min(s.Number, other.Number), max(s.Number, other.Number))
	if err != nil {
		return err
	}
	var (
		table   string
		added   bool
		entry   []byte
		changed = make(map[string]map[rowID]*row) // a removed row is nil
		bound   = rowBound{rows: mostEvents}
	)
	_, err = pgx.ForEachRow(events, []any{&table, &added, &entry}, func() error {
		r, err := bound.decode(entry)
		if err != nil {
			return err
		}
		if _, known := other.tables[table]; !known {
			return fmt.Errorf("an event is of the table %q, which this version of the module does not know", table)
		}
		rows := changed[table]
		if rows == nil {
			rows = make(map[rowID]*row)
			changed[table] = rows
		}
		rows[r.primaryKey(table)] = nil
		if added == forward {
			rows[r.primaryKey(table)] = r
		}
		return nil
	})
	s.tables, s.Document = other.tables, other.Document
	if len(changed) > 0 {
		s.tables, s.Document = maps.Clone(s.tables), new(*s.Document)
		for table, rows := range changed {
			s.tables[table] = changePart(s.Document, table, s.tables[table], rows)
		}
	}
	return err
}

// mostEvents is how many events are read at most to derive a version from another one: each entry
// of all lists may have been replaced several times.
const mostEvents = 10 * rules.MaxEntries

// A rowBound bounds the rows that are read of a table.
type rowBound struct {
	rows  int // how many more rows may be read
	bytes int // how many bytes were read
}

// decode decodes a row as decodeRow does. It returns an error if the rows exceed the bound.
func (b *rowBound) decode(text []byte) (*row, error) {
	b.rows--
	b.bytes += len(text)
	if b.rows < 0 || b.bytes > maxPatched {
		return nil, damaged(errors.New("there are more rows than may be written"))
	}
	return decodeRow(text)
}

// decodeRow decodes a row that to_jsonb has encoded.
func decodeRow(text []byte) (*row, error) {
	r := new(row)
	err := json.Unmarshal(text, r)
	r.Entry = kept(r.Entry)
	return r, err
}
