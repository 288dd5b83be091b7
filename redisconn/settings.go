package redisconn

import (
	"context"
	"errors"
)

// Settings are the settings of a Redis server that decide which data it may lose.
type Settings struct {
	// AppendOnly reports that the server writes each change to a file. Without that, it keeps
	// snapshots at best.
	AppendOnly bool

	// Eviction is what the server removes when its memory is full, such as "allkeys-lru". It is empty
	// while maxmemory is not set.
	Eviction string
}

// Settings reads the settings of the primary of the key. The Redis user needs INFO.
func (c *Conn) Settings(ctx context.Context) (s Settings, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return s, context.Cause(ctx)
	}
	if err := c.connect(ctx); err != nil {
		return s, err
	}
	conn := c.link.conn
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	reply, err := c.link.command([]any{"info"})
	if err != nil {
		if class, _ := classify(err); class != final {
			c.drop()
		}
		return s, err
	}
	info, _ := reply.(string)
	if infoField(info, "aof_enabled") == "" {
		return s, errors.New("INFO does not say whether Redis persists")
	}
	s.AppendOnly = infoField(info, "aof_enabled") == "1"
	if infoField(info, "maxmemory") != "0" {
		s.Eviction = infoField(info, "maxmemory_policy")
	}
	return s, nil
}
