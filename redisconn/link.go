package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	redis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// checkAfter is how long a link may be unused and still be trusted with calls. After that the
	// server is asked first: it may hang, may have closed the connection, or may have been a
	// replica meanwhile.
	checkAfter = time.Second

	// identifyEvery is how long a link in steady use is trusted to lead to the same incarnation of
	// the server. A primary begins another one without a failover when it gets its first replica,
	// and then its links must not disagree for long.
	identifyEvery = 10 * time.Second
)

// A login is how to connect to a server.
type login struct {
	username, password string
	db                 int
	tls                *tls.Config
	timeout            time.Duration // of each step: to connect, to write, to read
	bounds             bounds        // of replies
}

// login returns how to connect to a primary.
func (c *Client) login() login {
	o := &c.options
	l := login{username: o.Username, password: o.Password, tls: o.TLS, timeout: detached, bounds: callBounds}
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
	stop   func() bool

	server     incarnation // to which the link leads
	identified time.Time   // when the server was asked for it last; zero: never
	roleDoubts uint64      // of the queue at that time
}

// connect returns a link to addr on which the server has answered. When ctx ends the connection is
// closed.
func connect(ctx context.Context, addr string, as login) (*link, error) {
	l, err := newLink(ctx, addr, as)
	if err != nil {
		return nil, err
	}
	if err := l.ping(); err != nil {
		_ = l.conn.Close() // the client does not own it yet if the login failed
		l.close()
		return nil, err
	}
	return l, nil
}

// newLink returns a link to addr on which nothing was sent. When ctx ends the connection is closed.
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

// run sends cmds in one pipeline and waits for their replies, which they then hold. It fails unless
// all were answered: with errNotSent when none was sent. After that the link is of no use.
func (l *link) run(cmds []redis.Cmder) error {
	l.conn.scanner.begin()
	pipe := l.client.Pipeline()
	_ = pipe.BatchProcess(context.Background(), cmds...) // only collects them
	_, err := pipe.Exec(context.Background())
	l.used = time.Now()
	if l.lost.Load() {
		return errNotSent
	}
	failed := func(cmd redis.Cmder) bool { return cmd.Err() != nil }
	if reply := redis.Error(nil); err == nil || errors.As(err, &reply) && slices.ContainsFunc(cmds, failed) {
		return nil
	}
	return err // of the network, or of the login, which no command holds
}

// ping fails when the server does not answer.
func (l *link) ping() error {
	cmd := redis.NewStatusCmd(context.Background(), "ping")
	if err := l.run([]redis.Cmder{cmd}); err != nil {
		return err
	}
	if class, _ := classify(cmd.Err()); class == final || class == noMemory {
		return cmd.Err()
	}
	return nil // it is up, and each call finds out by itself whether it is ready
}

// doubtful reports whether the server must be asked for its incarnation again before the link is
// trusted with calls. doubts are the roleDoubts of the queue.
func (l *link) doubtful(doubts uint64) bool {
	now := time.Now()
	return now.Sub(l.used) > checkAfter || now.Sub(l.identified) > identifyEvery || l.roleDoubts != doubts
}

// identify asks the server for its incarnation. It fails when there is no answer. doubts are the
// roleDoubts of the queue.
func (l *link) identify(doubts uint64) error {
	mute := !l.identified.IsZero() && l.server == 0
	l.identified, l.roleDoubts = time.Now(), doubts
	if mute {
		return l.ping()
	}
	info := redis.NewStringCmd(context.Background(), "info", "server", "replication")
	if err := l.run([]redis.Cmder{info}); err != nil {
		return err
	}
	if err := info.Err(); err != nil && strings.HasPrefix(err.Error(), "BUSY ") {
		return err // a script holds it up, and would hold up a call
	}
	l.server = parseIncarnation(info.Val())
	return nil
}

func (l *link) close() {
	l.stop()
	_ = l.client.Close()
}
