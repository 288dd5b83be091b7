package redisconn

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRetryLater has the server refuse a call several times before it executes it.
func TestRetryLater(t *testing.T) {
	for _, refusal := range []string{
		"LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"CLUSTERDOWN The cluster is down",
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"READONLY You can't write against a read only replica.",
	} {
		refusals := 4
		f := newFake(t, nil, func([]string) string {
			if refusals--; refusals >= 0 {
				return "-" + refusal + "\r\n"
			}
			return ":1\r\n"
		})
		c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience})
		if call := do(t, c, count, "k", 1); call.Err != nil || call.Reply != int64(1) {
			t.Errorf("after %s: %v, %v, want 1", refusal, call.Reply, call.Err)
		}
		if n := len(f.commands()); n != 5 {
			t.Errorf("after %s: sent %d times, want 5", refusal, n)
		}
	}
}

// TestRetryEndsWithCaller has the server refuse for ever. The call is not retried after its caller
// has left.
func TestRetryEndsWithCaller(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return "-LOADING Redis is loading the dataset in memory\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, Breaker: staysClosed})
	start := time.Now()
	if call := do(t, c, count, "k", 1); !errors.Is(call.Err, ErrTimeout) {
		t.Errorf("error = %v, want %v", call.Err, ErrTimeout)
	}
	if waited := time.Since(start); waited < defaultTimeout {
		t.Errorf("the caller waited %v, want at least %v", waited, defaultTimeout)
	}
	<-time.After(3 * retryPause)
	n := len(f.commands())
	<-time.After(10 * retryPause)
	if later := len(f.commands()); later != n {
		t.Errorf("the call was sent %d times after its caller had left", later-n)
	}
}

// TestBrokenAfterWrite ends the connection after the server has read the call. The server may have
// executed it.
func TestBrokenAfterWrite(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return hangUp })
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience})
	call := do(t, c, count, "k", 1)
	if !errors.Is(call.Err, io.EOF) || !strings.Contains(call.Err.Error(), f.addr) {
		t.Errorf("error = %v, want EOF from %s", call.Err, f.addr)
	}
	<-time.After(3 * retryPause)
	if got := f.commands(); !slices.Equal(got, []string{"evalsha"}) {
		t.Errorf("sent = %v, want the call once", got)
	}
}

// TestBrokenBetweenReplies ends the connection between the replies of one pipeline. The replies
// that came count, and a call that Redis said it did not execute is sent again.
func TestBrokenBetweenReplies(t *testing.T) {
	replies := []string{":1\r\n", "$-1\r\n", "-NOSCRIPT No matching script.\r\n", hangUp, ":4\r\n"}
	f := newFake(t, nil, func([]string) string {
		reply := replies[0]
		replies = replies[1:]
		return reply
	})
	pendings := sendTogether(t, f, 4)
	for i, want := range []any{int64(1), nil, int64(4), nil} {
		if pendings[i].reply != want || (pendings[i].err != nil) != (i == 3) {
			t.Errorf("call %d = %v, %v, want %v", i, pendings[i].reply, pendings[i].err, want)
		}
	}
	if !errors.Is(pendings[3].err, io.EOF) {
		t.Errorf("the last call: error = %v, want EOF", pendings[3].err)
	}
}

// TestDemotedServerIsLeft has a server become a replica in the middle of a pipeline. The connection
// is not used any more, because its address may lead to another server now.
func TestDemotedServerIsLeft(t *testing.T) {
	replies := []string{":1\r\n", "-READONLY You can't write against a read only replica.\r\n", ":2\r\n"}
	f := newFake(t, nil, func([]string) string {
		reply := replies[0]
		replies = replies[1:]
		return reply
	})
	pendings := sendTogether(t, f, 2)
	for i := range pendings {
		if p := &pendings[i]; p.err != nil || p.reply != int64(1+i) {
			t.Errorf("call %d = %v, %v, want %d", i, p.reply, p.err, 1+i)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	connections := 0
	for _, command := range f.seen {
		if command[0] == "hello" {
			connections++
		}
	}
	if connections < 2 {
		t.Errorf("%d connections were made, want another one after the demotion", connections)
	}
}

// sendTogether sends n calls to f in one pipeline, and returns them when all are answered.
func sendTogether(t *testing.T, f *fake, n int) []pending {
	t.Helper()
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience, PoolSize: 1})
	q := c.table.Load().queues[0]
	pendings := make([]pending, n)
	answered, done := latch(n)
	q.mu.Lock() // so that the worker finds them all
	for i := range pendings {
		p := &pendings[i]
		p.onDone, p.deadline = answered, time.Now().Add(patience)
		if err := p.init(&Call{Script: count, Keys: []string{"k"}, Args: []any{i}}); err != nil {
			t.Error(err)
		}
		q.pushLocked(p)
	}
	q.mu.Unlock()
	<-done
	return pendings
}

// TestRedirections has one fake redirect a call to another fake.
func TestRedirections(t *testing.T) {
	for _, test := range []struct {
		word string
		want []string // the commands that the other fake is sent
	}{
		{"MOVED", []string{"evalsha"}},
		{"ASK", []string{"asking", "evalsha"}},
	} {
		other := newFake(t, nil, func([]string) string { return ":1\r\n" })
		f := newClusterFake(t, func([]string) string {
			// The address has no host, which means the host of f.
			return "-" + test.word + " 1 " + strings.TrimPrefix(other.addr, "127.0.0.1") + "\r\n"
		})
		c := open(t, Options{Mode: Cluster, Addresses: []string{f.addr}, Timeout: patience})
		if call := do(t, c, count, "k", 1); call.Err != nil || call.Reply != int64(1) {
			t.Errorf("%s: %v, %v, want 1", test.word, call.Reply, call.Err)
		}
		if got := other.commands(); !slices.Equal(got, test.want) || other.sent("script") != 1 {
			t.Errorf("%s: the other server was sent %v and %d scripts, want %v and one", test.word, got, other.sent("script"), test.want)
		}
	}
}

// TestRefusalAfterRedirection has one server redirect a call to another one, which refuses the call.
// The call is tried again at the second server, and not at the first, which would only redirect it
// again.
func TestRefusalAfterRedirection(t *testing.T) {
	refusals := 2
	other := newFake(t, nil, func([]string) string {
		if refusals--; refusals >= 0 {
			return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
		}
		return ":1\r\n"
	})
	f := newClusterFake(t, func([]string) string { return "-ASK 1 " + other.addr + "\r\n" })
	c := open(t, Options{Mode: Cluster, Addresses: []string{f.addr}, Timeout: patience})
	if call := do(t, c, count, "k", 1); call.Err != nil || call.Reply != int64(1) {
		t.Errorf("%v, %v, want 1", call.Reply, call.Err)
	}
	if got := f.commands(); !slices.Equal(got, []string{"evalsha"}) {
		t.Errorf("the first server was sent %v, want the call once", got)
	}
}

// TestMovedAfterAsk has the server to which a call is redirected by ASK redirect it again: its slot
// has another primary, which needs no ASKING.
func TestMovedAfterAsk(t *testing.T) {
	third := newFake(t, nil, func([]string) string { return ":1\r\n" })
	second := newFake(t, nil, func([]string) string { return "-MOVED 1 " + third.addr + "\r\n" })
	first := newClusterFake(t, func([]string) string { return "-ASK 1 " + second.addr + "\r\n" })
	c := open(t, Options{Mode: Cluster, Addresses: []string{first.addr}, Timeout: patience})
	if call := do(t, c, count, "k", 1); call.Err != nil || call.Reply != int64(1) {
		t.Errorf("%v, %v, want 1", call.Reply, call.Err)
	}
	if got := third.commands(); !slices.Equal(got, []string{"evalsha"}) {
		t.Errorf("the third server was sent %v, want the call alone", got)
	}
}

// TestRedirectionLoop ends with the error of the second server.
func TestRedirectionLoop(t *testing.T) {
	var there *fake
	here := newClusterFake(t, func([]string) string { return "-MOVED 1 " + there.addr + "\r\n" })
	there = newClusterFake(t, func([]string) string { return "-MOVED 1 " + here.addr + "\r\n" })
	c := open(t, Options{Mode: Cluster, Addresses: []string{here.addr}, Timeout: patience})
	if call := do(t, c, count, "k", 1); call.Err == nil || !strings.HasPrefix(call.Err.Error(), "MOVED ") {
		t.Errorf("error = %v, want that of the second MOVED", call.Err)
	}
	if n := len(here.commands()) + len(there.commands()); n != 2 {
		t.Errorf("sent %d times, want 2", n)
	}
}

func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	config := web.Client().Transport.(*http.Transport).TLSClientConfig.Clone() // trusts that certificate
	config.ServerName, config.NextProtos = "example.com", nil
	f := newFake(t, web.TLS, func([]string) string { return ":1\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, TLS: config, Timeout: patience})
	if call := do(t, c, count, "k", 1); call.Err != nil || call.Reply != int64(1) {
		t.Errorf("over TLS: %v, %v, want 1", call.Reply, call.Err)
	}
	c = open(t, Options{Addresses: []string{f.addr}, TLS: new(tls.Config), Timeout: patience})
	if call := do(t, c, count, "k", 1); call.Err == nil || !strings.Contains(call.Err.Error(), "certificate") {
		t.Errorf("with a certificate that is not trusted: error = %v", call.Err)
	}
}

// TestClosedConnectionLosesNoCall has a server close its connections, with and without TLS. The next
// call finds out before it is written.
func TestClosedConnectionLosesNoCall(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	config := web.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.ServerName, config.NextProtos = "example.com", nil
	for _, test := range []struct {
		name           string
		server, client *tls.Config
	}{{"plain", nil, nil}, {"TLS", web.TLS, config}} {
		f := newFake(t, test.server, func([]string) string { return ":1\r\n" })
		c := open(t, Options{Addresses: []string{f.addr}, TLS: test.client, Timeout: patience, PoolSize: 1})
		for range 10 {
			if call := do(t, c, count, "k", 1); call.Err != nil {
				t.Errorf("%s: %v", test.name, call.Err)
			}
			f.closeAll()
		}
	}
}
