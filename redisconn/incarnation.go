package redisconn

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Incarnation is an argument of a call that stands for the incarnation of the server that the call
// is sent to, in decimal. So a script can tell whether it runs where the caller believes.
//
// An incarnation is the time for which one process is primary. It survives a reconnect, and ends
// with a restart or a failover, even one back to the same process. It may end earlier, for example
// when a primary gets its first replica. An incarnation knows all that it has answered; another one
// may lack the newest writes.
//
// It is 0, unknown, when the server's user may not ask for INFO.
type Incarnation struct{}

// An incarnation has 32 bits, because nodes remember one for each key. 0: unknown.
type incarnation uint64

func newIncarnation(hash uint64) incarnation { return incarnation(max(hash>>32, 1)) }

// MarshalBinary returns the argument of a command. go-redis calls it when it writes the command.
func (i *incarnation) MarshalBinary() ([]byte, error) {
	return strconv.AppendUint(nil, uint64(*i), 10), nil
}

// parseIncarnation reads the sections server and replication of INFO. It returns 0 when they name
// no process.
func parseIncarnation(info string) incarnation {
	process := infoField(info, "run_id")
	if process == "" {
		return 0
	}
	// A process that becomes primary again keeps its run_id, although it may have lost writes. But
	// each promotion gives it a new replication ID.
	h := fnv.New64a()
	_, _ = h.Write([]byte(process + infoField(info, "master_replid")))
	return newIncarnation(h.Sum64())
}

// infoField returns the value of a field in INFO, which has a line for each.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
