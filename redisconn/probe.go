package redisconn

import (
	"context"
	"errors"

	redis "github.com/redis/go-redis/v9"
)

var (
	errReplica = errors.New("the server is a replica")
	errDown    = errors.New("the cluster is down")
)

// A probe finds out whether a primary answers.
type probe struct {
	thorough bool       // it must also say that it is a primary and that its cluster is up
	result   chan error // has room for one
}

// answerProbe probes the primary for the watcher, or leaves that to another worker if the server
// had closed the connection.
func (w *worker) answerProbe(p *probe) {
	err := w.ask(p.thorough)
	if !errors.Is(err, errNotSent) {
		w.errors.note(err)
		p.result <- err
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted == nil {
		w.wanted = p
	}
}

// ask probes the primary. It fails unless that answers in time. A thorough probe also fails if the
// server says that it is no primary or that its cluster is down.
func (w *worker) ask(thorough bool) error {
	ctx := context.Background()
	ping := redis.NewStatusCmd(ctx, "ping")
	role := redis.NewStringCmd(ctx, "info", "replication")
	cluster := redis.NewStringCmd(ctx, "cluster", "info")
	cmds := []redis.Cmder{ping}
	if thorough && w.link.process != "" { // else the user may not be allowed to
		cmds = append(cmds, role)
	}
	if thorough && w.client.options.Mode == Cluster {
		cmds = append(cmds, cluster)
	}
	switch err := w.runTimed(cmds, nil); {
	case err != nil:
		return err
	case ping.Err() != nil:
		return ping.Err()
	case infoField(role.Val(), "role") == "slave":
		w.disconnect() // a new connection looks up the address again
		return errReplica
	case infoField(cluster.Val(), "cluster_state") == "fail":
		return errDown
	}
	return w.slow()
}
