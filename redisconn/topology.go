package redisconn

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// failingEvery is the time between two loads while a primary fails or none is known, and the least
	// time between any two loads.
	failingEvery = 250 * time.Millisecond

	// answerWithin is how long a load waits for the slower nodes.
	answerWithin = 200 * time.Millisecond

	// lookupPatience is how long loads fail before that is reported.
	lookupPatience = 2 * time.Second
)

// A topology finds out which primaries there are, by asking all nodes at the same time.
type topology struct {
	client *Client
	every  time.Duration // between two loads while all is well
	login  login
	ask    func(l *link, addr string) (view, error) // asks one node; nil if there is nothing to find out
	woken  chan struct{}                            // has room for one call of wake

	// The following fields belong to the goroutine of run.
	peers   map[string]*peer // by address
	asking  sync.WaitGroup
	failing time.Time // since when loads fail; zero if they do not
}

// A peer is a node that can be asked.
type peer struct {
	busy atomic.Bool // it was asked and has not answered
	link *link       // nil while not connected; belongs to the goroutine that asks, while there is one
}

// An answer is the result of asking a peer.
type answer struct {
	addr string
	view view
	err  error
}

func newTopology(c *Client) *topology {
	t := &topology{client: c, login: c.login(), woken: make(chan struct{}, 1), peers: make(map[string]*peer)}
	t.login.timeout, t.login.bounds = answerWithin, topologyBounds
	switch c.options.Mode {
	case Sentinel:
		t.every, t.ask = sentinelEvery, askSentinel(c.options.MasterName)
		t.login.username, t.login.password, t.login.db = "", c.options.SentinelPassword, 0
	case Cluster:
		t.every, t.ask = clusterEvery, askNode
	}
	return t
}

// wake asks for a load soon.
func (t *topology) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// run loads the topology until the client is closed.
func (t *topology) run() {
	t.know(nil)
	for first := true; t.client.ctx.Err() == nil; first = false {
		pause := time.After(failingEvery)
		v, err := t.load()
		if err == nil {
			err = t.client.use(v)
		}
		t.report(err, time.Now())
		if err == nil {
			t.client.reason.Store(nil)
		} else {
			err = fmt.Errorf("%w: %w", ErrNoPrimary, err)
			t.client.reason.Store(&err)
		}
		if first {
			t.client.early.stopAccepting()
			t.client.early.drain(t.client.dispatch)
		}
		t.await(pause)
	}
	t.asking.Wait()
	for _, p := range t.peers {
		if p.link != nil {
			p.link.close()
		}
	}
}

// report notes the result of a load at now. It calls OnLookup if loads have failed for lookupPatience,
// or if they succeed again after that.
func (t *topology) report(err error, now time.Time) {
	c := t.client
	switch {
	case c.ctx.Err() != nil: // Close has ended it
	case err == nil:
		t.failing = time.Time{}
		if c.lookup.Swap(nil) != nil {
			c.options.OnLookup(nil)
		}
	case t.failing.IsZero():
		t.failing = now
	case now.Sub(t.failing) >= lookupPatience && c.lookup.Swap(&err) == nil:
		c.options.OnLookup(err)
	}
}

// LookupErr returns why the primaries cannot be looked up, so that a failover would not be noticed. It
// returns nil if they can be looked up. See Options.OnLookup.
func (c *Client) LookupErr() error {
	if err := c.lookup.Load(); err != nil {
		return *err
	}
	return nil
}

// Sentinels returns how many Sentinels have answered the last question for the primary. It reports
// false if none are asked: see Options.Mode.
func (c *Client) Sentinels() (reachable int, asked bool) {
	return int(c.answered.Load()), c.options.Mode == Sentinel
}

// await waits for the end of the pause. While all is well, it then waits for a wake or for the time
// of the next load.
func (t *topology) await(pause <-chan time.Time) {
	select {
	case <-pause:
	case <-t.client.ctx.Done():
		return
	}
	if t.client.Failing() {
		return
	}
	select {
	case <-time.After(t.every - failingEvery):
	case <-t.woken:
	case <-t.client.ctx.Done():
	}
}

// load asks all peers, except those that have not yet answered an earlier load, and returns the newest
// view.
func (t *topology) load() (newest view, err error) {
	asked, answers := 0, make(chan answer, len(t.peers)) // late answers do not block
	for addr, p := range t.peers {
		if p.busy.CompareAndSwap(false, true) {
			asked++
			t.asking.Go(func() {
				v, err := t.askPeer(addr, p)
				p.busy.Store(false)
				answers <- answer{addr, v, err}
			})
		}
	}
	late, found, answered := time.After(answerWithin), false, 0
	err = errors.New("no node has answered in time")
	for ; asked > 0; asked-- {
		select {
		case a := <-answers:
			if a.err == nil {
				answered++
			}
			switch {
			case a.err == nil && (!found || slices.Compare(a.view.epoch[:], newest.epoch[:]) > 0):
				newest, found = a.view, true
			case a.err != nil:
				err = fmt.Errorf("%s: %w", a.addr, a.err)
			}
		case <-late:
			asked = 0
		case <-t.client.ctx.Done():
			return view{}, ErrClosed
		}
	}
	t.client.answered.Store(int64(answered))
	if !found {
		return view{}, err
	}
	t.know(newest.nodes)
	return newest, nil
}

// askPeer asks the node at addr, over a new link when there is none or the server has closed the
// old one.
func (t *topology) askPeer(addr string, p *peer) (v view, err error) {
	for fresh := false; ; {
		if p.link == nil {
			fresh = true
			if p.link, err = connect(t.client.ctx, addr, t.login); err != nil {
				return view{}, err
			}
		}
		v, err = t.ask(p.link, addr)
		if class, _ := classify(err); class != unknown {
			return v, err // the server replied: the link is fine
		}
		p.link.close()
		p.link = nil
		if fresh || !errors.Is(err, errNotSent) {
			return view{}, err
		}
	}
}

// know makes the configured addresses and nodes the addresses of the peers. A peer that is just being
// asked stays.
func (t *topology) know(nodes []string) {
	known := make(map[string]bool)
	for _, addr := range slices.Concat(t.client.options.Addresses, nodes) {
		known[addr] = true
		if t.peers[addr] == nil {
			t.peers[addr] = new(peer)
		}
	}
	for addr, p := range t.peers {
		if !known[addr] && !p.busy.Load() {
			if p.link != nil {
				p.link.close()
			}
			delete(t.peers, addr)
		}
	}
}
