package redisconn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const (
	// connTimeout is how long the server may take for one step of a Conn.
	connTimeout = 5 * time.Second

	// refusedFor is how long a Conn looks for a primary, and how long it retries a script that servers
	// refuse to execute because they load their data or have not agreed on a new primary yet.
	refusedFor = 5 * time.Second

	// refusedPause is the time between two attempts.
	refusedPause = 50 * time.Millisecond

	// quiet is the time without a message after which a subscription is checked.
	quiet = 3 * time.Second

	// connReply is the most bytes of a reply to a Conn.
	connReply = 64 << 20
)

// A Conn is a connection to the primary of a key, for scripts that are rare and whose arguments and
// replies are long. In the queues of a [Client] they would hold up all calls. A Conn finds the primary
// by the table of its client, and connects when it is used. It is safe for concurrent use: scripts run
// one after the other.
//
// For Subscribe, the Redis user needs SUBSCRIBE and the channel, besides the rights for calls.
type Conn struct {
	client *Client
	key    string
	turn   chan struct{} // holds one element while somebody uses the link
	link   *link         // belongs to who has the turn; nil while not connected
	addr   string        // where link leads
	ctx    context.Context
	cancel context.CancelFunc // called by Close
}

// NewConn returns a connection to the primary of key. It must be closed before the client.
func (c *Client) NewConn(key string) *Conn {
	conn := &Conn{client: c, key: key, turn: make(chan struct{}, 1)}
	conn.ctx, conn.cancel = context.WithCancel(c.ctx)
	return conn
}

// Close ends the connection, and the scripts and subscriptions that use it.
func (c *Conn) Close() {
	c.cancel()
	c.turn <- struct{}{}
	c.drop()
	<-c.turn
}

// primary returns the address of the primary. It waits some time for the first table.
func (c *Conn) primary(ctx context.Context) (string, error) {
	for began := time.Now(); ; {
		if t := c.client.table.Load(); len(t.queues) > 0 {
			if q := t.slots[slotOf(c.key)]; q != nil {
				return q.addr, nil
			}
			return "", ErrNoPrimary
		}
		if reason := c.client.reason.Load(); reason != nil && time.Since(began) > refusedFor {
			return "", fmt.Errorf("%w: %w", ErrNoPrimary, *reason)
		}
		if err := c.pause(ctx); err != nil {
			return "", err
		}
	}
}

// pause waits for refusedPause, in which servers may agree on a primary. It fails if ctx ends or c is
// closed.
func (c *Conn) pause(ctx context.Context) error {
	select {
	case <-time.After(refusedPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// login returns how to connect to the primary. b bounds the replies.
func (c *Conn) login(b bounds) login {
	as := c.client.login()
	as.timeout, as.bounds = connTimeout, b
	return as
}

// Eval runs a script with the key of c, and returns its reply: nil, an int64, a string, or a []any of
// these. The script is sent once, and again only after Redis has said that it did not execute it. After
// other errors it may have been executed.
func (c *Conn) Eval(ctx context.Context, script *Script, args ...any) (reply any, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for began := time.Now(); ; {
		reply, err = c.eval(ctx, script, args)
		class, _ := classify(err)
		switch class {
		case final:
			return reply, err
		case noMemory:
			return nil, fmt.Errorf("%w: %w", ErrMemory, err)
		}
		c.drop()
		if errors.Is(err, errNotSent) {
			continue // at most once: the next link is new
		}
		if class == unknown || time.Since(began) > refusedFor {
			return nil, err
		}
		c.client.topology.wake()
		if c.pause(ctx) != nil {
			return nil, err
		}
	}
}

// eval runs a script once.
func (c *Conn) eval(ctx context.Context, script *Script, args []any) (any, error) {
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	conn := c.link.conn
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	reply, err := c.link.command(append([]any{"evalsha", script.digest, 1, c.key}, args...))
	if class, _ := classify(err); class == noScript {
		if _, err = c.link.command([]any{"script", "load", script.source}); err == nil {
			reply, err = c.link.command(append([]any{"evalsha", script.digest, 1, c.key}, args...))
		}
	}
	if class, _ := classify(err); class == unknown && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
	}
	return reply, err
}

// command runs a command. A reply of nil is not an error.
func (l *link) command(words []any) (any, error) {
	cmd := redis.NewCmd(context.Background(), words...)
	if err := l.run([]redis.Cmder{cmd}, nil); err != nil {
		return nil, err
	}
	reply, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return reply, err
}

// connect makes sure that c.link leads to the primary, and that the primary has answered on it lately.
func (c *Conn) connect(ctx context.Context) error {
	switch {
	case c.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	addr, err := c.primary(ctx)
	if err != nil {
		return err
	}
	if c.link != nil && (c.addr != addr || time.Since(c.link.used) > checkAfter && c.link.ping() != nil) {
		c.drop()
	}
	if c.link == nil {
		c.addr = addr
		c.link, err = connect(c.ctx, addr, c.login(bounds{reply: connReply, pipeline: connReply}))
	}
	return err
}

// drop ends the link, if there is one.
func (c *Conn) drop() {
	if c.link != nil {
		c.link.close()
		c.link = nil
	}
}

// Subscribe subscribes to a channel over a connection of its own. It calls received with an empty
// message when it has subscribed, and then with each message. When ctx or the connection ends, it
// returns the reason.
func (c *Conn) Subscribe(ctx context.Context, channel string, received func(message string)) error {
	addr, err := c.primary(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	l, err := newLink(ctx, addr, c.login(bounds{reply: callBounds.reply, pipeline: math.MaxInt}))
	if err != nil {
		return err
	}
	defer l.close()
	subscription := l.client.Subscribe(ctx, channel)
	defer subscription.Close()
	for asked := false; ; {
		message, err := subscription.ReceiveTimeout(ctx, quiet)
		timeout := net.Error(nil)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &timeout) && timeout.Timeout() && !asked:
			if now, err := c.primary(ctx); err != nil || now != addr {
				return fmt.Errorf("redisconn: %s is no longer the primary", addr)
			}
			if err := subscription.Ping(ctx); err != nil {
				return err
			}
			asked = true
			continue
		case err != nil:
			return err
		}
		asked = false
		switch message := message.(type) {
		case *redis.Subscription:
			received("")
		case *redis.Message:
			received(message.Payload)
		}
	}
}
