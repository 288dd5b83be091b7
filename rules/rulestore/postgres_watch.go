package rulestore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Watch implements [rules.Store]. It listens on a connection of its own, which triggers notify of
// versions.
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
