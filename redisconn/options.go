package redisconn

import (
	"cmp"
	"crypto/tls"
	"time"
)

// Mode is how the Redis servers are arranged.
type Mode uint8

const (
	Standalone Mode = iota // one server, the first of the addresses
	Sentinel               // one primary, which the Sentinels at the addresses name
	Cluster                // many primaries, which the nodes at the addresses name
)

const (
	defaultTimeout = 50 * time.Millisecond

	// detached is how long a call may run after it was written, and how long a worker can hang, unless
	// Options.Timeout is longer.
	detached = time.Second
)

// Options describe a Redis and how to connect to it. They do not change after New.
type Options struct {
	Mode             Mode
	Addresses        []string // host:port. Of Sentinels and cluster nodes, a few that are likely to be up
	Username         string   // empty for the default user
	Password         string
	DB               int    // ignored on a cluster, which has one database only
	MasterName       string // the Sentinels' name of the primary
	SentinelPassword string

	// TLS, when it is set, is used for every connection. Without a ServerName, certificates are
	// verified by address.
	TLS *tls.Config

	// Timeout is how long a caller of Do waits for a call to be written, and then for its answer.
	// Default: 50 ms.
	Timeout time.Duration

	// PoolSize is the number of connections to each primary that stay open, each with its own pipeline.
	// Default: 2, so that one pipeline is written while the other is answered. While replies take so
	// long that calls would wait for a connection, up to 16 connections are open. They are closed when
	// they are not needed any more.
	PoolSize int

	Breaker BreakerOptions

	// OnBreaker is called when the breaker of a primary changes its state, with no lock of the client
	// held. It must not block for long, as the primary is not watched meanwhile. Default: nothing.
	OnBreaker func(Breaker)

	// OnLookup is called with an error when the primaries could not be looked up for two seconds,
	// because no Sentinel or no node of the cluster answers. It is called with nil when they can be
	// looked up again. The known primaries stay in use meanwhile. It must not block for long. Default:
	// nothing.
	OnLookup func(error)
}

// detached returns how long a call may run, and a worker hang.
func (o *Options) detached() time.Duration { return max(detached, o.Timeout) }

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.PoolSize = cmp.Or(max(o.PoolSize, 0), 2)
	o.Breaker = o.Breaker.withDefaults()
	if o.OnBreaker == nil {
		o.OnBreaker = func(Breaker) {}
	}
	if o.OnLookup == nil {
		o.OnLookup = func(error) {}
	}
	return o
}
