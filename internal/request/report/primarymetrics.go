package report

import "github.com/fleetlimit/fleetlimit/redisconn"

var (
	descBreaker = desc("breaker_state", "The circuit breaker of a primary of Redis: 0 is closed, 1 half-open, 2 open.",
		"store", "primary")
	descLatency = desc("redis_latency_seconds", "How long a primary of Redis took to answer the newest pipeline or probe.",
		"store", "primary")
	descRedisErrors = desc("redis_errors_total", "Calls and probes of a primary of Redis that have failed, and those that had "+
		"to be sent again, by the kind of the error.", "store", "primary", "kind")

	// What a primary says about itself. It is the same on all nodes that use the primary.
	descMemory    = desc("redis_memory_bytes", "The memory that a primary of Redis uses.", "store", "primary")
	descMaxMemory = desc("redis_max_memory_bytes", "The memory that a primary of Redis may use: its maxmemory; 0: any.",
		"store", "primary")
	descRedisKeys = desc("redis_keys", "The keys that a primary of Redis holds, those of other programs too.", "store", "primary")
	descCommands  = desc("redis_commands_total", "Commands that a primary of Redis has executed since it started, those of "+
		"scripts and of other programs too.", "store", "primary")
	descEvictedKeys = desc("redis_evicted_keys_total", "Keys that a primary of Redis has removed since it started because its "+
		"memory was full.", "store", "primary")
	descReplicas = desc("redis_replicas", "The replicas that are connected to a primary of Redis.", "store", "primary")
	descLag      = desc("redis_replication_lag_bytes", "What the replica of a primary of Redis lacks that is furthest behind; only "+
		"for primaries with replicas.", "store", "primary")
)

// collectPrimary collects a primary of the named store.
func (s scrape) collectPrimary(store string, p *redisconn.Primary) {
	s.gauge(descBreaker, float64(p.State), store, p.Addr)
	s.gauge(descLatency, p.Latency.Seconds(), store, p.Addr)
	for kind, n := range p.Errors {
		s.countEvents(descRedisErrors, n, store, p.Addr, redisconn.ErrorKind(kind).String())
	}
	server := p.Server
	if server == nil {
		return
	}
	s.gauge(descMemory, float64(server.Memory), store, p.Addr)
	s.gauge(descMaxMemory, float64(server.MaxMemory), store, p.Addr)
	s.gauge(descRedisKeys, float64(server.Keys), store, p.Addr)
	s.count(descCommands, server.Commands, store, p.Addr)
	s.count(descEvictedKeys, server.Evicted, store, p.Addr)
	s.gauge(descReplicas, float64(server.Replicas), store, p.Addr)
	if server.Replicas > 0 {
		s.gauge(descLag, float64(server.Lag), store, p.Addr)
	}
}
