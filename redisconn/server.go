package redisconn

import (
	"strconv"
	"strings"
	"time"
)

const (
	// inspectEvery is the time between two questions for a Server. They go with the questions for the
	// incarnation, and so are not sent if the Redis user may not ask for INFO.
	inspectEvery = 15 * time.Second

	// inspectedFor is how long Primaries returns an answer.
	inspectedFor = 4 * inspectEvery
)

// inspected is the command INFO with the sections from which a Server is read.
var inspected = []any{"info", "replication", "memory", "stats", "keyspace"}

// A Server is what a primary says about itself in INFO.
type Server struct {
	Memory, MaxMemory int64  // bytes used, and the limit; MaxMemory is 0 if there is no limit
	Keys              int64  // number of keys in all of its databases
	Commands          uint64 // number of commands executed since the server started, those of scripts too
	Evicted           uint64 // number of keys removed since the server started because its memory was full

	Replicas int   // number of replicas that are connected
	Lag      int64 // bytes that the slowest replica has not received yet; 0 without replicas

	at time.Time // when the primary was asked
}

// parseServer returns what INFO says, and false if it does not say how much memory is used.
func parseServer(info string, at time.Time) (s Server, ok bool) {
	s.at = at
	var written int64
	var offsets []int64
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "used_memory":
			s.Memory, ok = number, true
		case name == "maxmemory":
			s.MaxMemory = number
		case name == "total_commands_processed":
			s.Commands = uint64(number)
		case name == "evicted_keys":
			s.Evicted = uint64(number)
		case name == "connected_slaves":
			s.Replicas = int(number)
		case name == "master_repl_offset":
			written = number
		case numbered(name, "slave"): // slave0:ip=192.0.2.2,port=6379,state=online,offset=14,lag=0
			offsets = append(offsets, infoPart(value, "offset"))
		case numbered(name, "db"): // db0:keys=2,expires=1,avg_ttl=0
			s.Keys += infoPart(value, "keys")
		}
	}
	for _, offset := range offsets {
		s.Lag = max(s.Lag, written-offset)
	}
	return s, ok
}

// numbered reports whether name is prefix followed by a number.
func numbered(name, prefix string) bool {
	number, found := strings.CutPrefix(name, prefix)
	_, err := strconv.ParseUint(number, 10, 32)
	return found && err == nil
}

// infoPart returns the number called name in a value such as "keys=2,expires=1".
func infoPart(value, name string) (number int64) {
	for part := range strings.SplitSeq(value, ",") {
		if text, found := strings.CutPrefix(part, name+"="); found {
			number, _ = strconv.ParseInt(text, 10, 64)
		}
	}
	return number
}

// A Primary is what a client knows of a primary.
type Primary struct {
	Breaker
	Errors [ErrorKinds]uint64 // number of errors by kind
	Server *Server            // nil if it has not said lately what it is
}

// Primaries returns all primaries that are known.
func (c *Client) Primaries() []Primary {
	t := c.table.Load()
	all := make([]Primary, len(t.queues))
	for i, q := range t.queues {
		all[i] = Primary{q.status(), q.errors.all(), q.inspect.Load()}
		if s := all[i].Server; s != nil && time.Since(s.at) > inspectedFor {
			all[i].Server = nil
		}
	}
	return all
}
