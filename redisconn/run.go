package redisconn

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// A Placeholder is an argument of a call that the client replaces when it sends the call, anew each time.
type Placeholder uint8

// Incarnation stands for the run of the server that the call is sent to, as decimal text: that of [Call.Run]. So a script can
// tell whether it runs where the caller believes that it does.
//
// A run is the time for which one process is primary. It survives a reconnect, and ends with a restart or a failover, even
// one back to the same process. It may end earlier, as when a primary is given its first replica. All that one run has
// answered is known to it; another one may lack what was written last.
//
// The run of a server that does not say, as its user may not ask for INFO, is 0: unknown.
const Incarnation Placeholder = 1

// A incarnation is never changed.
type incarnation struct {
	id   uint64 // below 2^32: nodes remember one for each key; 0 when it is unknown
	text []byte // id in decimal
}

// unknownRun is the run of a server that does not say.
var unknownRun = &incarnation{text: []byte("0")}

func newIncarnation(hash uint64) *incarnation {
	id := max(hash>>32, 1)
	return &incarnation{id: id, text: strconv.AppendUint(nil, id, 10)}
}

// parseIncarnation returns the run that the sections server and replication of INFO tell of, nil when they do not.
func parseIncarnation(info string) *incarnation {
	process := infoField(info, "run_id")
	if process == "" {
		return nil
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(process))
	// A process that becomes primary again has the same run_id, and what its successor knew. It takes a new replication ID
	// whenever it is promoted.
	_, _ = h.Write([]byte(infoField(info, "master_replid")))
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

// A incarnationArg is the argument of a command for which the text of a run is sent: that of the link, which whoever sends the
// command sets before.
type incarnationArg struct{ *incarnation }

// MarshalBinary is called by go-redis when it writes the command.
func (a *incarnationArg) MarshalBinary() ([]byte, error) { return a.text, nil }
