package rulestore

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Decisions writes the decisions that nodes record to a table of the PostgreSQL that has the rules.
// It makes the table at the first call, if necessary. It has one connection of its own, so that
// rules never wait for records.
type Decisions struct{ store *Postgres }

// A DecisionRow is a row of the table, as the columns are called there.
type DecisionRow struct {
	ID        string    `json:"id"` // a UUID
	Time      time.Time `json:"time"`
	Node      string    `json:"node"`
	Zone      string    `json:"zone"`
	Endpoint  string    `json:"endpoint"`
	Tier      string    `json:"tier"`
	Outcome   string    `json:"outcome"`
	Source    string    `json:"source"`
	Reason    string    `json:"reason"`
	KeyHash   string    `json:"key_hash"`
	Key       string    `json:"key"`
	Base64    string    `json:"key_base64"`
	RemoteIP  string    `json:"remote_ip"`
	ClientIP  string    `json:"client_ip"`
	Method    string    `json:"method"`
	Host      string    `json:"host"`
	Path      string    `json:"path"`
	Status    *int      `json:"status"`
	WouldBe   *int      `json:"would_be"`
	Cost      int64     `json:"cost"`
	Limit     *int64    `json:"rate_limit"`
	Remaining *int64    `json:"remaining"`
	Wait      *string   `json:"wait"`   // an interval
	Waited    *string   `json:"waited"` // an interval
}

// OpenDecisions returns the table in the database of a URL, as OpenPostgres takes it. It does not
// connect yet.
func OpenDecisions(url string) (*Decisions, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = 1, 0
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, explain(err)
	}
	return &Decisions{&Postgres{pool: pool, tables: decisionsTables}}, nil
}

// Write adds rows: all of them, or none. Rows that the table has stay as they are, so that a caller
// that got no answer can write them again.
func (d *Decisions) Write(ctx context.Context, rows []DecisionRow) error {
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	const insert = "INSERT INTO rate_limit_decisions " +
		"SELECT * FROM jsonb_populate_recordset(NULL::rate_limit_decisions, $1) ON CONFLICT (id) DO NOTHING"
	return d.store.do(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insert, withoutNUL(string(text)))
		return err
	})
}

// withoutNUL returns JSON without escaped NUL characters in its texts, which PostgreSQL refuses.
// Clients write some of these texts.
func withoutNUL(text string) string {
	const nul = `\u0000`
	if !strings.Contains(text, nul) {
		return text
	}
	return strings.NewReplacer(`\\`, `\\`, nul, `\ufffd`).Replace(text) // an escaped backslash may stand before u0000
}

// Remove removes rows that are older than age by the clock of the server, but at most most rows. It
// returns how many rows it has removed. It removes none while another node removes rows.
func (d *Decisions) Remove(ctx context.Context, age time.Duration, most int) (removed int, err error) {
	const remove = "DELETE FROM rate_limit_decisions WHERE id IN (SELECT id FROM rate_limit_decisions " +
		"WHERE time < now() - make_interval(secs => $1) ORDER BY time LIMIT $2)"
	err = d.store.do(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		var alone bool
		err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(7236280412116543)").Scan(&alone)
		if err != nil || !alone {
			return err
		}
		done, err := tx.Exec(ctx, remove, age.Seconds(), most)
		removed = int(done.RowsAffected())
		return err
	})
	return removed, err
}

// Close closes the connection.
func (d *Decisions) Close() { _ = d.store.Close() }

// IsRefused reports whether an error of Write is about the rows, so that writing them again would
// fail again.
func IsRefused(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "22") || strings.HasPrefix(refused.Code, "23"))
}
