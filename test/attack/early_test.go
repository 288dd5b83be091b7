package attack

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Requests in early data (0-RTT) come before the client has proved its address, and anybody can send them
// again. Zones by address answer 425 and let no such request through, except in a dry run. Zones by another
// key count them.
func TestEarlyData(t *testing.T) {
	u := newUpstream(keyHeaders)
	g := serve(t, `log
	rate_limit {
		zone address {
			match {
				path /address
			}
			key {client_ip}
			limit 1000/1h
		}
		zone dry {
			match {
				path /dry
			}
			key {client_ip}
			limit 1000/1h
			dry_run
		}
		zone key {
			match {
				path /key
			}
			key {http.request.header.X-Api-Key}
			limit 3/1h
		}
	}`, u.ServeHTTP)
	config := clientTLS("h3")
	config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	relay := newQUICRelay(t, g.tls)
	first, err := quic.DialAddr(t.Context(), relay.addr, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	openControl(t, first)
	if sendHTTP3(t.Context(), t, first, get("/"))() != 200 {
		t.Fatal("the first request fails")
	}
	_ = first.CloseWithError(0, "")

	sent := 1
	send := func(r request) (status int) {
		t.Helper()
		relay.hold()
		conn, err := quic.DialAddrEarly(t.Context(), relay.addr, config, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.CloseWithError(0, "") }()
		openControl(t, conn)
		answer := sendHTTP3(t.Context(), t, conn, r)
		sent++
		redistest.Eventually(t, "an answer before the handshake", func() bool { return len(g.logged(t, "handled request")) == sent })
		relay.release()
		status = answer()
		if !conn.ConnectionState().Used0RTT {
			t.Error("the request was not in early data")
		}
		return status
	}
	for range 2 {
		if status := send(get("/address", field{"X-Api-Key", "by address"})); status != 425 {
			t.Errorf("status where the address decides = %d, want 425", status)
		}
	}
	if status := send(get("/dry")); status != 200 {
		t.Errorf("status in a dry run = %d, want 200", status)
	}
	for n := range limit + 2 {
		want := 200
		if n >= limit {
			want = 429
		}
		if status := send(get("/key", field{"X-Api-Key", "by key"})); status != want {
			t.Errorf("status of request %d = %d, want %d", n, status, want)
		}
	}
	if seen := u.count("by address"); seen != 0 {
		t.Errorf("requests at the upstream where the address decides = %d, want none", seen)
	}
	if seen := u.count("by key"); seen != limit {
		t.Errorf("requests of the key at the upstream = %d, want %d", seen, limit)
	}
}

// A quicRelay is the network between one client and a server. It can hold what the server sends, so that the
// client cannot end a handshake.
type quicRelay struct {
	addr string

	mu     sync.Mutex // guards the fields below
	holds  bool
	held   [][]byte
	client net.Addr
	local  net.PacketConn // the socket to the client
}

func newQUICRelay(t *testing.T, server string) *quicRelay {
	t.Helper()
	local, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &quicRelay{addr: local.LocalAddr().String(), local: local}
	servers := make(map[string]net.Conn) // the connections to the server, by client
	var relaying sync.WaitGroup
	relaying.Go(func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := local.ReadFrom(buffer)
			if err != nil {
				break
			}
			to := servers[from.String()]
			if to == nil {
				if to, err = net.Dial("udp", server); err != nil {
					break
				}
				servers[from.String()] = to
				relaying.Go(func() { r.answer(to, from) })
			}
			_, _ = to.Write(buffer[:n])
		}
		for _, to := range servers {
			_ = to.Close()
		}
	})
	t.Cleanup(func() {
		_ = local.Close()
		relaying.Wait()
	})
	return r
}

// answer relays what a server sends to a client.
func (r *quicRelay) answer(server net.Conn, client net.Addr) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.client = client; r.holds {
			r.held = append(r.held, bytes.Clone(buffer[:n]))
		} else {
			_, _ = r.local.WriteTo(buffer[:n], client)
		}
		r.mu.Unlock()
	}
}

func (r *quicRelay) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = true
}

// release sends to the newest client all that was held.
func (r *quicRelay) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = false
	for _, datagram := range r.held {
		_, _ = r.local.WriteTo(datagram, r.client)
	}
	r.held = nil
}
