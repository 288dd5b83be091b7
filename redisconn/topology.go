package redisconn

import (
	"errors"
	"fmt"
	"time"
)

const (
	// failingEvery is the time between two loads while a primary fails or is silent, and the least time between any two.
	failingEvery = 250 * time.Millisecond

	// answerWithin is how long a load waits for the slower nodes.
	answerWithin = 200 * time.Millisecond
)

// A topology finds out which primaries there are, by asking all nodes at the same time.
type topology struct {
	client *Client
	every  time.Duration // between two loads while all is well
	as     login
	ask    func(l *link, addr string) (view, error) // asks one node; nil when there is nothing to find out
	woken  chan struct{}                            // has room for one

	// Of the goroutine that runs run:
	peers   map[string]*peer // by address
	answers chan answer
}

// A peer is a node that can be asked.
type peer struct {
	busy bool  // it was asked and has not answered
	link *link // nil before it has answered once; of the asking goroutine while busy
}

// An answer is what came of asking a peer.
type answer struct {
	addr  string
	round int
	link  *link // nil when it failed
	view  view
	err   error
}

func newTopology(c *Client) *topology {
	t := &topology{client: c, woken: make(chan struct{}, 1), peers: make(map[string]*peer), answers: make(chan answer)}
	o := &c.options
	switch o.Mode {
	case Sentinel:
		t.every, t.ask = sentinelEvery, askSentinel(o.MasterName)
		t.as = login{password: o.SentinelPassword, tls: o.TLS, timeout: answerWithin, bounds: topologyBounds}
	case Cluster:
		t.every, t.ask = clusterEvery, askNode
		t.as = login{username: o.Username, password: o.Password, tls: o.TLS, timeout: answerWithin, bounds: topologyBounds}
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
	defer t.disconnect()
	for round := 0; t.client.ctx.Err() == nil; round++ {
		next := time.Now().Add(failingEvery)
		v, err := t.load(round)
		if err == nil {
			err = t.client.use(v)
		}
		if err == nil {
			t.client.reason.Store(nil)
		} else {
			t.client.reason.Store(&err)
		}
		if round == 0 {
			t.client.admitEarly()
		}
		t.rest(time.Until(next))
	}
}

// rest waits until the next load is due: least at least, and longer while all is well and nobody calls wake.
func (t *topology) rest(least time.Duration) {
	due := time.NewTimer(least)
	defer due.Stop()
	early := true
	var woken chan struct{} // nil until the least time has passed
	for {
		select {
		case <-due.C:
			if !early || t.client.failing() {
				return
			}
			early, woken = false, t.woken
			due.Reset(t.every - failingEvery)
		case <-woken:
			return
		case a := <-t.answers:
			t.put(a)
		case <-t.client.ctx.Done():
			return
		}
	}
}

// load asks all peers and returns the newest view.
func (t *topology) load(round int) (newest view, err error) {
	asked := t.askAll(round)
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	found := false
	err = errors.New("no node has answered in time")
	for asked > 0 {
		select {
		case a := <-t.answers:
			t.put(a)
			if a.round != round {
				continue
			}
			asked--
			if a.err != nil {
				if !found {
					err = fmt.Errorf("%s: %w", a.addr, a.err)
				}
			} else if !found || a.view.newer(&newest) {
				newest, found = a.view, true
			}
		case <-late.C:
			asked = 0
		case <-t.client.ctx.Done():
			return view{}, ErrClosed
		}
	}
	if !found {
		return view{}, err
	}
	t.know(newest.nodes)
	return newest, nil
}

// askAll asks every peer that is not still busy with the last question, and returns how many.
func (t *topology) askAll(round int) (asked int) {
	if len(t.peers) == 0 {
		t.know(nil)
	}
	for addr, p := range t.peers {
		if p.busy {
			continue
		}
		p.busy = true
		asked++
		link := p.link
		t.client.workers.Go(func() {
			a := t.askOne(addr, link)
			a.round = round
			select {
			case t.answers <- a:
			case <-t.client.ctx.Done():
				if a.link != nil {
					a.link.close()
				}
			}
		})
	}
	return asked
}

// askOne asks the node at addr, over a new link if there is none or the old one has broken.
func (t *topology) askOne(addr string, l *link) answer {
	for {
		fresh := l == nil
		if fresh {
			var err error
			if l, err = connect(t.client.ctx, addr, t.as); err != nil {
				return answer{addr: addr, err: err}
			}
		}
		v, err := t.ask(l, addr)
		if err == nil || judged(err) {
			return answer{addr: addr, link: l, view: v, err: err}
		}
		l.close()
		l = nil
		if fresh || !errors.Is(err, errNotSent) {
			return answer{addr: addr, err: err}
		}
	}
}

// judged reports whether the server said err, so that the link is fine.
func judged(err error) bool {
	v, _ := classify(err)
	return v != unknown
}

// put takes note of an answer.
func (t *topology) put(a answer) {
	p := t.peers[a.addr]
	if p == nil { // it has left the cluster meanwhile
		if a.link != nil {
			a.link.close()
		}
		return
	}
	p.busy, p.link = false, a.link
}

// know makes the peers those at the configured addresses, and nodes.
func (t *topology) know(nodes []string) {
	known := make(map[string]bool)
	for _, addrs := range [][]string{t.client.options.Addresses, nodes} {
		for _, addr := range addrs {
			known[addr] = true
			if t.peers[addr] == nil {
				t.peers[addr] = new(peer)
			}
		}
	}
	for addr, p := range t.peers {
		if !known[addr] && !p.busy {
			if p.link != nil {
				p.link.close()
			}
			delete(t.peers, addr)
		}
	}
}

// disconnect closes the links that no goroutine asks over. The others close theirs when they find nobody to answer.
func (t *topology) disconnect() {
	for _, p := range t.peers {
		if !p.busy && p.link != nil {
			p.link.close()
		}
	}
}
