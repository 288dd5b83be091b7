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
// The incarnation is 0, which means unknown, if the Redis user may not ask for INFO, or if the server
// has not told it lately: a call does not wait for the answer.
type Incarnation struct{}

// An incarnation has 32 bits, because nodes remember one for each key. It is 0 if it is unknown.
type incarnation uint64

func newIncarnation(hash uint64) incarnation { return incarnation(max(hash>>32, 1)) }

// MarshalBinary returns the argument of a command. go-redis calls it when it writes the command.
func (i *incarnation) MarshalBinary() ([]byte, error) {
	return strconv.AppendUint(nil, uint64(*i), 10), nil
}

// incarnationOfProcess returns the incarnation of the process with the run_id process. info is the
// section replication of its INFO. It returns 0 if process is empty.
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
	// trustFor is how long the server counts as the same incarnation after it was asked for INFO. A
	// failover to another server and back takes longer, or the error of a call reveals it.
	trustFor = time.Second

	// identifyEvery is the time between two questions for the incarnation. It is so much shorter than
	// trustFor that each call finds an answer that is new enough. While there are no calls, the
	// questions go with probes.
	identifyEvery = trustFor / 2
)

// An identity is what the server of a queue has said about itself. All connections to one process share
// the identity. The lock of the queue guards it.
type identity struct {
	process     string // its run_id; empty if it is unknown
	incarnation incarnation
	at          time.Time // when the question that the server has answered was sent
	doubts      uint64    // the roleDoubts of the queue when that question was sent

	asked     time.Time // when the newest question for the incarnation was sent
	inspected time.Time // when the newest question for a Server was sent
}

// server returns the incarnation of the server that the link leads to. It returns 0 if the server has
// not told it lately.
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

// question returns the command that asks for the server's incarnation. It returns nil if that is not
// due, or if the user may not ask for INFO: after such an error the server is not asked again over the
// same link.
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

// learn notes the answer to a question for the incarnation. The question was sent over l at the time
// at, and doubts are the roleDoubts that the queue had then.
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

// infoField returns the value of the field name in info, the reply of INFO. It returns "" if there is
// no such field.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
