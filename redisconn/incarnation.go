package redisconn

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// Incarnation is an argument of a call that stands for the incarnation of the server that the call
// is sent to, in decimal. So a script can tell whether it runs where the caller believes.
//
// An incarnation is the time for which one process is primary. It survives a reconnect, and ends
// with a restart or a failover, even one back to the same process. It may end earlier, for example
// when a primary gets its first replica. An incarnation knows all that it has answered; another one
// may lack the newest writes.
//
// It is 0, unknown, when the server's user may not ask for INFO, and when the server was not asked
// lately: a call does not wait for that.
type Incarnation struct{}

// An incarnation has 32 bits, because nodes remember one for each key. One that is unknown is 0.
type incarnation uint64

func newIncarnation(hash uint64) incarnation { return incarnation(max(hash>>32, 1)) }

// MarshalBinary returns the argument of a command. go-redis calls it when it writes the command.
func (i *incarnation) MarshalBinary() ([]byte, error) {
	return strconv.AppendUint(nil, uint64(*i), 10), nil
}

// incarnationOfProcess returns the incarnation of a process from the section replication of its INFO.
func incarnationOfProcess(process, info string) incarnation {
	if process == "" {
		return 0
	}
	// A process that becomes primary again keeps its run_id, although it may have lost writes. But
	// each promotion gives it a new replication ID.
	h := fnv.New64a()
	_, _ = h.Write([]byte(process + infoField(info, "master_replid")))
	return newIncarnation(h.Sum64())
}

const (
	// trustFor is how long after an answer to INFO the server counts as the same incarnation. A
	// failover there and back takes longer, or a call finds out by its error.
	trustFor = time.Second

	// identifyEvery is the time between two questions for the incarnation. It is so much shorter
	// than trustFor that calls find an answer, also those that come after a time without any: the
	// question then goes with a probe.
	identifyEvery = trustFor / 2
)

// An identity is what the server that a queue's connections lead to has said about itself. All
// connections to one process share it. The lock of the queue guards it.
type identity struct {
	process     string // its run_id; empty: unknown
	incarnation incarnation
	at          time.Time // when the question was sent
	doubts      uint64    // the roleDoubts of the queue at that time

	asked     time.Time // when the newest question was sent
	inspected time.Time // when the newest question for a Server was sent
}

// server returns the incarnation of the server that the link leads to, and 0 unless the server has
// told it lately.
func (w *worker) server() incarnation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.serverLocked(time.Now())
}

func (w *worker) serverLocked(now time.Time) incarnation {
	id := &w.identity
	if id.process != w.link.process || id.doubts != w.roleDoubts.Load() || now.Sub(id.at) >= trustFor {
		return 0
	}
	return id.incarnation
}

// question returns the question for the server's incarnation if that is due, else nil. A process
// that does not answer it is not asked again over the same link.
func (w *worker) question(now time.Time) *redis.StringCmd {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.link.process == "" || w.serverLocked(now) != 0 && now.Sub(w.identity.asked) < identifyEvery {
		return nil
	}
	w.identity.asked = now
	sections := []any{"info", "replication"}
	if now.Sub(w.identity.inspected) >= inspectEvery {
		w.identity.inspected, sections = now, inspected
	}
	return redis.NewStringCmd(context.Background(), sections...)
}

// learn notes the answer to the question that was sent over l at that time, when the queue had
// these roleDoubts.
func (w *worker) learn(l *link, answer *redis.StringCmd, at time.Time, doubts uint64) {
	if err := answer.Err(); err != nil {
		if !strings.HasPrefix(err.Error(), "BUSY ") { // a script holds the server up
			l.process = ""
		}
		return
	}
	if s, isServer := parseServer(answer.Val(), at); isServer {
		w.inspect.Store(&s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if id := &w.identity; !at.Before(id.at) {
		id.process, id.incarnation = l.process, incarnationOfProcess(l.process, answer.Val())
		id.at, id.doubts = at, doubts
	}
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
