package redistest

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy is the network between a server and its clients. It forwards connections, slowly or not
// at all if a test says so.
type Proxy struct {
	Addr string

	server string

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	least   time.Duration // the least delay of replies
	most    time.Duration
	cut     map[string]bool
	epoch   int // how often Drop was called
	closed  bool
}

// NewProxy starts a proxy of a server. It ends with the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	p := &Proxy{Addr: FreeAddr(), server: server, cut: make(map[string]bool)}
	p.changed = sync.NewCond(&p.mu)
	listener, err := net.Listen("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		p.set(func() { p.closed = true })
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

// Delay sets by how much replies are delayed.
func (p *Proxy) Delay(d time.Duration) { p.Jitter(d, d) }

// Jitter has replies delayed by random times between least and most.
func (p *Proxy) Jitter(least, most time.Duration) { p.set(func() { p.least, p.most = least, most }) }

// Cut cuts the connections of the client that logs in as user, until Mend is called. Like a network that is
// cut, the proxy closes no connection, accepts new ones and loses nothing: what is sent meanwhile arrives
// afterwards.
func (p *Proxy) Cut(user string) { p.set(func() { p.cut[user] = true }) }

// Drop loses everything that is sent from now on over existing connections. Like a firewall that has
// forgotten them, the proxy does not close them. New connections work.
func (p *Proxy) Drop() { p.set(func() { p.epoch++ }) }

// Mend ends Cut.
func (p *Proxy) Mend() { p.set(func() { clear(p.cut) }) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

// now returns the epoch.
func (p *Proxy) now() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// await waits while the connections of user that were made in this epoch are cut or dropped, and returns the
// delay of the next reply. It returns false once the proxy is closed.
func (p *Proxy) await(user string, epoch int) (latency time.Duration, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for (p.cut[user] || epoch < p.epoch) && !p.closed {
		p.changed.Wait()
	}
	return p.least + rand.N(p.most-p.least+1), !p.closed
}

// serve forwards conn until one of the two sides closes it. It closes conn at once if the server
// refuses the connection.
func (p *Proxy) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	epoch := p.now()
	upstream, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	buf := make([]byte, 64<<10)
	size, err := conn.Read(buf)
	if err != nil {
		return
	}
	user := userOf(buf[:size])
	go func() {
		defer func() { _ = upstream.Close() }()
		for err == nil {
			if _, open := p.await(user, epoch); !open {
				return
			}
			if _, err = upstream.Write(buf[:size]); err == nil {
				size, err = conn.Read(buf)
			}
		}
	}()
	replies := make(chan chunk, 1<<10)
	var delivery sync.WaitGroup
	delivery.Go(func() { deliver(conn, replies) })
	defer delivery.Wait()
	defer close(replies)
	for {
		reply := make([]byte, 64<<10)
		size, err := upstream.Read(reply)
		if err != nil {
			return
		}
		latency, open := p.await(user, epoch)
		if !open {
			return
		}
		replies <- chunk{reply[:size], time.Now().Add(latency)}
	}
}

// A chunk is a part of the replies, and is on its way until it is due. As in a network, the chunks behind it
// do not wait for its arrival before they set out.
type chunk struct {
	bytes []byte
	due   time.Time
}

// deliver writes chunks when they are due, in order.
func deliver(conn net.Conn, chunks <-chan chunk) {
	for c := range chunks {
		<-time.After(time.Until(c.due))
		if _, err := conn.Write(c.bytes); err != nil {
			_ = conn.Close()
		}
	}
}

// userOf returns the name with which the first commands of a connection log in: the word before the password
// in AUTH <user> <password>, which HELLO may contain, too. It returns "" if they do not log in.
func userOf(commands []byte) string {
	words := bytes.Split(commands, []byte("\r\n"))
	for i, word := range words {
		if bytes.EqualFold(word, []byte("auth")) && i+4 < len(words) { // each word comes after its length
			return string(words[i+2])
		}
	}
	return ""
}
