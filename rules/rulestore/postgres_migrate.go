package rulestore

import (
	"context"
	"embed"
	"errors"

	"github.com/jackc/pgx/v5"
)

// migrations are applied in the order of their names, once each.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate makes and changes tables as far as that was not done yet. It needs no right to do so when
// all is done.
func (p *Postgres) migrate(ctx context.Context) error {
	p.migrating.Lock()
	defer p.migrating.Unlock()
	if p.migrated {
		return nil
	}
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		applied, err := countMigrations(ctx, tx)
		if err != nil || applied >= len(files) {
			return err // more are those of a newer version of this module, with which this one works
		}
		if applied, err = beginMigrations(ctx, tx); err != nil {
			return err
		}
		for i := applied; i < len(files); i++ {
			name := files[i].Name()
			statements, err := migrations.ReadFile("migrations/" + name)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(statements)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "INSERT INTO rate_limit_migrations (name) VALUES ($1)", name); err != nil {
				return err
			}
		}
		return nil
	})
	p.migrated = err == nil
	return err
}

// countMigrations returns how many migrations were applied.
func countMigrations(ctx context.Context, tx pgx.Tx) (applied int, err error) {
	var exists bool
	err = tx.QueryRow(ctx, "SELECT to_regclass('rate_limit_migrations') IS NOT NULL").Scan(&exists)
	if err == nil && exists {
		err = tx.QueryRow(ctx, "SELECT count(*) FROM rate_limit_migrations").Scan(&applied)
	}
	return applied, err
}

// beginMigrations waits until no other node migrates, and returns how many migrations were applied.
func beginMigrations(ctx context.Context, tx pgx.Tx) (applied int, err error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(7236280412116541)"); err != nil {
		return 0, err
	}
	var encoding, schema string
	err = tx.QueryRow(ctx, "SELECT current_setting('server_encoding'), coalesce(current_schema(), '')").Scan(&encoding, &schema)
	switch {
	case err != nil:
		return 0, err
	case encoding != "UTF8":
		return 0, errors.New("the database has the encoding " + encoding +
			": use one with UTF8, from createdb --template=template0 --encoding=UTF8")
	case schema == "":
		return 0, errors.New("no schema of the search path exists: use CREATE SCHEMA, or another search_path in the URL")
	}
	// The functions keep this search path: tables that others make elsewhere cannot take the place of
	// theirs.
	path := pgx.Identifier{schema}.Sanitize() + ", pg_temp"
	if _, err := tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", path); err != nil {
		return 0, err
	}
	const table = "CREATE TABLE IF NOT EXISTS rate_limit_migrations " +
		"(name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
	if _, err := tx.Exec(ctx, table); err != nil {
		return 0, err
	}
	return countMigrations(ctx, tx)
}
