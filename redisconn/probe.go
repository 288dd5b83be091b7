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
	thorough bool       // the server must also say that it is a primary and that its cluster is up
	result   chan error // has room for one result
}

// answerProbe probes the primary for the watcher. If the server had closed the connection, it leaves
// the probe to another worker.
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

// ask probes the primary. It fails unless the primary answers in time. A thorough probe also fails if
// the server says that it is a replica or that its cluster is down.
func (w *worker) ask(thorough bool) error {
	ctx := context.Background()
	ping := redis.NewStatusCmd(ctx, "ping")
	role := redis.NewStringCmd(ctx, "info", "replication")
	cluster := redis.NewStringCmd(ctx, "cluster", "info")
	cmds := []redis.Cmder{ping}
	if thorough && w.link.process != "" { // without it, the user may not be allowed to ask for INFO
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
