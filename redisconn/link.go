package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	redis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// checkAfter is how long the link of a [Conn] may be unused and still be trusted with a script. After
// that the server is asked first: it may hang, or the network may have lost the connection.
const checkAfter = time.Second

// A login is how to connect to a server.
type login struct {
	username, password string
	db                 int
	tls                *tls.Config
	timeout            time.Duration // timeout of each step: to connect, to write, to read
	bounds             bounds        // bounds of replies
}

// login returns how to connect to a primary.
func (c *Client) login() login {
	o := &c.options
	l := login{username: o.Username, password: o.Password, tls: o.TLS, timeout: o.detached(), bounds: callBounds}
	if o.Mode != Cluster {
		l.db = o.DB
	}
	return l
}

// A link is one connection to one server, in a go-redis client of its own that speaks the protocol.
//
// That client never dials. So none of its pool's retries, pauses and log lines occur, and a
// pipeline is either on this connection or not sent. The owner of a link is its only user, and
// replaces it when it fails.
type link struct {
	client *redis.Client
	conn   *boundedConn
	lost   atomic.Bool // the server had closed the connection before anything was written
	used   time.Time
	took   time.Duration // time from the newest write to the reply
	stop   func() bool

	// The following fields are set for the link of a worker only.
	process    string // the run_id of the server; empty if it is unknown
	roleDoubts uint64 // the roleDoubts of the queue when the newest answered commands were written
}

// connect returns a link to addr on which the server has answered PING and the commands in with. When
// ctx ends, the connection is closed.
func connect(ctx context.Context, addr string, as login, with ...redis.Cmder) (*link, error) {
	l, err := newLink(ctx, addr, as)
	if err != nil {
		return nil, err
	}
	if err := l.ping(with...); err != nil {
		_ = l.conn.Close() // the client does not own the connection yet if the login failed
		l.close()
		return nil, err
	}
	return l, nil
}

// newLink returns a link to addr over which nothing was sent yet. When ctx ends, the connection is
// closed.
func newLink(ctx context.Context, addr string, as login) (*link, error) {
	conn, err := dial(ctx, addr, as)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}
	var handedOut atomic.Bool
	l.client = redis.NewClient(&redis.Options{
		Addr: addr,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if handedOut.Swap(true) {
				l.lost.Store(true)
				_ = conn.Close() // not an error, which the pool would log before it dials again
			}
			return conn.forPool(), nil
		},
		Username: as.username, Password: as.password, DB: as.db, Protocol: 2, DisableIdentity: true,
		ReadTimeout: as.timeout, WriteTimeout: as.timeout,
		MaxRetries: -1, PoolSize: 1, PipelinePoolSize: -1, ConnMaxIdleTime: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return l, nil
}

func dial(ctx context.Context, addr string, as login) (conn *boundedConn, err error) {
	ctx, cancel := context.WithTimeout(ctx, as.timeout)
	defer cancel()
	conn = &boundedConn{scanner: scanner{bounds: as.bounds}}
	if as.tls != nil {
		conn.Conn, err = (&tls.Dialer{Config: as.tls}).DialContext(ctx, "tcp", addr)
	} else {
		conn.Conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return conn, err
}

// errNotSent means that a pipeline was not written because the server had closed the connection.
var errNotSent = errors.New("redisconn: the server had closed the connection")

// run sends cmds in one pipeline, waits for the replies and stores each in its command. It calls
// written, if that is not nil, when cmds are written. It fails unless all commands were answered, and
// with errNotSent if none was sent. After an error the link is of no use.
func (l *link) run(cmds []redis.Cmder, written func(at time.Time)) error {
	l.conn.begin(written)
	pipe := l.client.Pipeline()
	_ = pipe.BatchProcess(context.Background(), cmds...) // only collects them
	_, err := pipe.Exec(context.Background())
	l.used = time.Now()
	l.took = l.used.Sub(l.conn.sent)
	if l.lost.Load() {
		return errNotSent
	}
	failed := func(cmd redis.Cmder) bool { return cmd.Err() != nil }
	if reply := redis.Error(nil); err == nil || errors.As(err, &reply) && slices.ContainsFunc(cmds, failed) {
		return nil
	}
	return err // an error of the network, or of the login, which no command holds
}

// ping sends PING and the commands in with. It fails if the server does not answer all of them, or if
// it answers PING with an error that does not pass by itself.
func (l *link) ping(with ...redis.Cmder) error {
	cmd := redis.NewStatusCmd(context.Background(), "ping")
	if err := l.run(append([]redis.Cmder{cmd}, with...), nil); err != nil {
		return err
	}
	if class, _ := classify(cmd.Err()); class == final || class == noMemory {
		return cmd.Err()
	}
	return nil // the server is up, and each call finds out by itself whether it is ready
}

func (l *link) close() {
	l.stop()
	_ = l.client.Close()
}
