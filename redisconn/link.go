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
	// checkAfter is how long a link may be unused and still be trusted with calls. After that the server is asked first:
	// it may hang, may have closed the connection, or may have been another's replica meanwhile.
	checkAfter = time.Second

	// identifyEvery is how long a link in steady use is trusted to lead to the same run of the server. A primary begins
	// another one without a failover when it is given its first replica, and then links must not disagree for long.
	identifyEvery = 10 * time.Second
)

// A login is what a server wants to know before it answers.
type login struct {
	username, password string
	db                 int
	tls                *tls.Config
	timeout            time.Duration // for each step: to connect, to write, to read
	bounds             bounds        // of replies
}

// A link is one connection to one server, with a go-redis client of its own around it that speaks the protocol.
//
// The client never dials: then its pool's retries, pauses and log lines cannot come into play, and a pipeline is either on
// this connection or not sent. A link that failed is closed and replaced by its owner, who also is the only one to use it.
type link struct {
	client *redis.Client
	conn   *boundedConn
	lost   atomic.Bool // the pool found that the server has closed the connection, before it wrote anything
	used   time.Time
	stop   func() bool

	server     *incarnation // to which the link leads; nil until identify
	identified time.Time    // when the server was asked for it last
	roleDoubts uint64       // those of the queue by then
}

// connect returns a link to addr on which the server has answered. When ctx ends the connection is closed.
func connect(ctx context.Context, addr string, as login) (*link, error) {
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
				return brokenConn(), nil
			}
			return conn.forPool(), nil
		},
		Username: as.username, Password: as.password, DB: as.db, Protocol: 2, DisableIdentity: true,
		ReadTimeout: as.timeout, WriteTimeout: as.timeout,
		MaxRetries: -1, PoolSize: 1, PipelinePoolSize: -1, ConnMaxIdleTime: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if err := l.ping(); err != nil {
		_ = conn.Close() // the client does not have it yet when it could not log in
		l.close()
		return nil, err
	}
	return l, nil
}

// dial connects to addr.
func dial(ctx context.Context, addr string, as login) (*boundedConn, error) {
	ctx, cancel := context.WithTimeout(ctx, as.timeout)
	defer cancel()
	dialer := interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	}(new(net.Dialer))
	if as.tls != nil {
		dialer = &tls.Dialer{Config: as.tls}
	}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &boundedConn{Conn: conn, scanner: scanner{bounds: as.bounds}}, nil
}

// brokenConn returns a connection on which nothing can be written. The pool is given it instead of an error, as it logs
// errors and dials again by itself.
func brokenConn() net.Conn {
	conn, other := net.Pipe()
	_ = conn.Close()
	_ = other.Close()
	return conn
}

// errNotSent says that a pipeline was not written because the server had closed the connection before.
var errNotSent = errors.New("redisconn: the server had closed the connection")

// run sends cmds in one pipeline and waits for the replies, which the commands then hold. It fails when not all were
// answered, with errNotSent when none was sent. Then the link is of no more use.
func (l *link) run(cmds []redis.Cmder) error {
	l.conn.scanner.begin()
	pipe := l.client.Pipeline()
	_ = pipe.BatchProcess(context.Background(), cmds...) // only collects them
	_, err := pipe.Exec(context.Background())
	l.used = time.Now()
	if l.lost.Load() {
		return errNotSent
	}
	if reply := redis.Error(nil); err == nil || errors.As(err, &reply) && slices.ContainsFunc(cmds, failed) {
		return nil
	}
	return err // of the network, or of the login, which no command holds
}

func failed(cmd redis.Cmder) bool { return cmd.Err() != nil }

// ping fails when the server does not answer.
func (l *link) ping() error {
	ctx := context.Background()
	cmd := redis.NewStatusCmd(ctx, "ping")
	if err := l.run([]redis.Cmder{cmd}); err != nil {
		return err
	}
	if v, _ := classify(cmd.Err()); v == answered || v == noMemory {
		return cmd.Err()
	}
	return nil // it is up; what it says to calls is for the calls
}

// doubtful reports whether the server should be asked for its run again before the link is trusted with calls, given the
// doubts of the queue.
func (l *link) doubtful(doubts uint64) bool {
	now := time.Now()
	return now.Sub(l.used) > checkAfter || now.Sub(l.identified) > identifyEvery || l.roleDoubts != doubts
}

// identify asks the server which run of it answers, given the doubts of the queue. It fails when there is no answer.
func (l *link) identify(doubts uint64) error {
	l.identified, l.roleDoubts = time.Now(), doubts
	if l.server == unknownRun {
		return l.ping()
	}
	info := redis.NewStringCmd(context.Background(), "info", "server", "replication")
	if err := l.run([]redis.Cmder{info}); err != nil {
		return err
	}
	if err := info.Err(); err != nil && strings.HasPrefix(err.Error(), "BUSY ") {
		return err // what it says to a ping, too: a script holds it up
	}
	if l.server = parseIncarnation(info.Val()); l.server == nil {
		l.server = unknownRun
	}
	return nil
}

func (l *link) close() {
	l.stop()
	_ = l.client.Close()
}
