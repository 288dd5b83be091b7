package redisconn

import (
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
	defaultTimeout  = 50 * time.Millisecond
	defaultPoolSize = 2

	// detached is how long a call may run after it was written, and so how long a worker can be stuck.
	detached = time.Second
)

// Options say where Redis is and how it is asked. They are not changed after New.
type Options struct {
	Mode             Mode
	Addresses        []string // host:port; of Sentinels and cluster nodes, some that are likely to be up
	Username         string   // empty: the default user
	Password         string
	DB               int    // not on a cluster, which has one database only
	MasterName       string // what the Sentinels call the primary
	SentinelPassword string

	// TLS is used for every connection when it is set. Without a ServerName, names are verified by address.
	TLS *tls.Config

	// Timeout is how long a caller of Do waits at most. 50 ms when it is 0.
	Timeout time.Duration

	// PoolSize is the number of connections to each primary, each with a pipeline of its own. Two when it is 0: then one
	// pipeline is written while the other is answered. More connections mean smaller pipelines, not more calls.
	PoolSize int
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.PoolSize <= 0 {
		o.PoolSize = defaultPoolSize
	}
	return o
}
