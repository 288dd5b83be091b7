package rulestore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fleetlimit/fleetlimit/rules"
)

// Postgres keeps versions in PostgreSQL. The rules in force are rows of tables, which may be
// changed in SQL, too: a trigger makes each such transaction a version. It connects at the first
// call, and then makes its tables if necessary.
type Postgres struct {
	pool   *pgxpool.Pool
	tables string // the folder with the migrations of the tables

	migrating sync.Mutex
	migrated  bool // guarded by migrating

	mu    sync.Mutex
	known *snapshot // the last version that was read or written; guarded by mu
}

var _ rules.VersionStore = (*Postgres)(nil)

// OpenPostgres returns a store on the database of a URL like
// postgres://user:password@host:5432/database. It does not connect yet. Errors never have the
// password.
func OpenPostgres(url string) (*Postgres, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, explain(err)
	}
	return &Postgres{pool: pool, tables: rulesTables}, nil
}

// Name implements [rules.VersionStore].
func (*Postgres) Name() string { return "postgres" }

// Place returns a name of the database without its user and password, so the name stays when these
// change.
func (p *Postgres) Place() string {
	c := p.pool.Config().ConnConfig
	hosts := []string{fmt.Sprint(c.Host, ":", c.Port)}
	for _, f := range c.Fallbacks { // the other hosts, and each one without TLS
		hosts = append(hosts, fmt.Sprint(f.Host, ":", f.Port))
	}
	return fmt.Sprint(slices.Compact(hosts), " ", c.Database, " ", c.RuntimeParams["search_path"])
}

// Close implements [rules.VersionStore]. It waits for calls that run, and closes the connections.
func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}

// Latest implements [rules.VersionStore].
func (p *Postgres) Latest(ctx context.Context) (*rules.Version, error) {
	v := &rules.Version{Document: new(rules.Document)}
	err := p.read(ctx, func(tx pgx.Tx) error {
		s, err := p.newest(ctx, tx)
		if s != nil {
			*v = s.Version
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Version implements [rules.VersionStore].
func (p *Postgres) Version(ctx context.Context, number int64) (*rules.Version, error) {
	var v *rules.Version
	err := p.read(ctx, func(tx pgx.Tx) error {
		s, err := one(ctx, tx, "WHERE version = $1", number)
		if err != nil {
			return err
		}
		if s == nil {
			return fmt.Errorf("%w: %d", rules.ErrNotFound, number)
		}
		v = &s.Version
		last, err := p.newest(ctx, tx)
		if err != nil {
			return err
		}
		return s.deriveFrom(ctx, tx, last)
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// History implements [rules.VersionStore].
func (p *Postgres) History(ctx context.Context, before int64, limit int) (history []*rules.Version, err error) {
	err = p.read(ctx, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, selectVersions+"WHERE version < $1 OR $1 = 0 ORDER BY version DESC LIMIT $2", before, limit)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(found, scanVersion)
		history = make([]*rules.Version, len(all))
		for i, s := range all {
			history[i] = &s.Version
		}
		return err
	})
	return history, err
}

// Watch implements [rules.VersionStore]. It listens on a connection of its own for the
// notifications that triggers send.
func (p *Postgres) Watch(ctx context.Context, changed func()) error {
	if err := p.migrate(ctx); err != nil {
		return explain(err)
	}
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return explain(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN rate_limit"); err != nil {
		return explain(err)
	}
	for {
		changed() // at first because a version may have been written before LISTEN
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return explain(err)
		}
	}
}

// read calls f in a transaction that sees one state of the database.
func (p *Postgres) read(ctx context.Context, f func(pgx.Tx) error) error {
	return p.do(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

// do calls f in a transaction, after the tables were made if necessary.
func (p *Postgres) do(ctx context.Context, options pgx.TxOptions, f func(pgx.Tx) error) error {
	if err := p.migrate(ctx); err != nil {
		return explain(err)
	}
	err := pgx.BeginTxFunc(ctx, p.pool, options, f)
	if hasCode(err, undefinedTable) { // somebody has dropped the tables, or replaced the database
		p.migrating.Lock()
		p.migrated = false
		p.migrating.Unlock()
	}
	return explain(err)
}

// newest returns the newest version, or nil, and remembers it.
func (p *Postgres) newest(ctx context.Context, tx pgx.Tx) (*snapshot, error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	s, err := readNewest(ctx, tx, known)
	if err == nil {
		p.remember(s)
	}
	return s, err
}

func (p *Postgres) remember(s *snapshot) {
	p.mu.Lock()
	p.known = s
	p.mu.Unlock()
}
