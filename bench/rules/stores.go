//go:build linux

package main

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A store is a kind of store for rules.
type store struct {
	name string

	// open starts the store. It returns the option that selects the store in the block rate_limit of
	// the Caddyfile, a function that returns the size of the history in bytes, and a function that
	// stops the store.
	open func(dir string) (option string, size func() (int64, error), end func(), err error)
}

var stores = []store{{"storage", openStorage}, {"redis", openRedis}, {"postgres", openPostgres}}

// openStorage keeps the rules in Caddy's storage, in files.
func openStorage(dir string) (option string, size func() (int64, error), end func(), err error) {
	size = func() (sum int64, err error) {
		err = filepath.WalkDir(filepath.Join(dir, "storage"), func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				sum += info.Size()
			}
			return err
		})
		return sum, err
	}
	return "rules storage", size, func() {}, nil
}

// openRedis keeps the rules in a Redis that writes an append-only file.
func openRedis(string) (option string, size func() (int64, error), end func(), err error) {
	s, err := redistest.StartServer("appendonly yes")
	if err != nil {
		return "", nil, nil, err
	}
	size = func() (int64, error) {
		return s.Client().MemoryUsage(context.Background(), "rl:{rules}:versions", 0).Result()
	}
	return "redis {\n\t\t\taddress " + s.Addr + "\n\t\t}\n\t\trules redis", size, s.Close, nil
}

// openPostgres keeps the rules in a PostgreSQL that waits for the disk at each commit.
func openPostgres(string) (option string, size func() (int64, error), end func(), err error) {
	s, err := pgtest.StartServer("fsync = on", "full_page_writes = on", "shared_buffers = 128MB")
	if err != nil {
		return "", nil, nil, err
	}
	size = func() (bytes int64, err error) {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err != nil {
			return 0, err
		}
		defer conn.Close(ctx)
		const history = "SELECT pg_total_relation_size('rate_limit_versions') + pg_total_relation_size('rate_limit_events')"
		return bytes, conn.QueryRow(ctx, history).Scan(&bytes)
	}
	return `rules postgres "` + s.URL("postgres") + `"`, size, s.Close, nil
}
