package rulestore

import (
	"context"
	"embed"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// migrations has the migrations of all tables, in a folder for each group of tables. Those of a
// folder are applied once each, in the order of their names. No two migrations have the same name.
//
//go:embed migrations
var migrations embed.FS

// The folders of migrations.
const (
	rulesTables     = "migrations"
	decisionsTables = "migrations/decisions"
)

// migrate applies the migrations that were not applied yet. If all were applied, it needs no right
// to change tables.
func (p *Postgres) migrate(ctx context.Context) error {
	p.migrating.Lock()
	defer p.migrating.Unlock()
	if p.migrated {
		return nil
	}
	wanted, err := migrationsIn(p.tables)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		missing, err := missingMigrations(ctx, tx, wanted)
		if err != nil || len(missing) == 0 {
			return err
		}
		if missing, err = beginMigrations(ctx, tx, wanted); err != nil {
			return err
		}
		for _, name := range missing {
			statements, err := migrations.ReadFile(p.tables + "/" + name)
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

// migrationsIn returns the names of the migrations in a folder.
func migrationsIn(folder string) (names []string, err error) {
	entries, err := migrations.ReadDir(folder)
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// missingMigrations returns which of the wanted migrations were not applied. The database may have
// other migrations, of a newer version of this module. This version works with these.
func missingMigrations(ctx context.Context, tx pgx.Tx, wanted []string) (missing []string, err error) {
	var exists bool
	err = tx.QueryRow(ctx, "SELECT to_regclass('rate_limit_migrations') IS NOT NULL").Scan(&exists)
	if err != nil || !exists {
		return wanted, err
	}
	found, err := tx.Query(ctx, "SELECT name FROM rate_limit_migrations")
	if err != nil {
		return nil, err
	}
	applied, err := pgx.CollectRows(found, pgx.RowTo[string])
	for _, name := range wanted {
		if !slices.Contains(applied, name) {
			missing = append(missing, name)
		}
	}
	return missing, err
}

// beginMigrations waits until no other node migrates, and returns the migrations that are missing.
func beginMigrations(ctx context.Context, tx pgx.Tx, wanted []string) (missing []string, err error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(7236280412116541)"); err != nil {
		return nil, err
	}
	var encoding, schema string
	err = tx.QueryRow(ctx, "SELECT current_setting('server_encoding'), coalesce(current_schema(), '')").Scan(&encoding, &schema)
	switch {
	case err != nil:
		return nil, err
	case encoding != "UTF8":
		return nil, errors.New("the database has the encoding " + encoding +
			": use one with UTF8, from createdb --template=template0 --encoding=UTF8")
	case schema == "":
		return nil, errors.New("no schema of the search path exists: use CREATE SCHEMA, or another search_path in the URL")
	}
	// The functions in migrations keep this search path, so tables that somebody makes in another
	// schema cannot take the place of their tables.
	path := pgx.Identifier{schema}.Sanitize() + ", pg_temp"
	if _, err := tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", path); err != nil {
		return nil, err
	}
	const table = "CREATE TABLE IF NOT EXISTS rate_limit_migrations " +
		"(name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
	if _, err := tx.Exec(ctx, table); err != nil {
		return nil, err
	}
	return missingMigrations(ctx, tx, wanted)
}
