//go:build linux

package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The server delays the first request, while others become due behind it on the only connection.
func TestSteadyLoadMeasuresFromDueInstant(t *testing.T) {
	const held, every, n = 50 * time.Millisecond, time.Millisecond, 60
	var first sync.Once
	k := dialServer(t, 1, func(http.ResponseWriter, *http.Request) {
		first.Do(func() { <-time.After(held) })
	})
	got, _, err := k.Send(Same(), Steady(every, n*every), 200)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != n {
		t.Fatalf("%d latencies, want %d", len(got), n)
	}
	for i, latency := range got {
		if least := held - time.Duration(i)*every; latency < least {
			t.Errorf("request %d took %v, want at least %v: the first was held back for %v", i, latency, least, held)
		}
	}
}

func TestSendRejectsOtherStatus(t *testing.T) {
	k := dialServer(t, 2, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) })
	_, _, err := k.Send(Same(), Load{Requests: 5}, 200)
	if want := "a response with status 429, want 200"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one with %q", err, want)
	}
}

func TestSendEndsWithTheLoad(t *testing.T) {
	k := dialServer(t, 3, func(http.ResponseWriter, *http.Request) {})
	for _, l := range []Load{{Requests: 1}, {Requests: 50}, {Duration: 20 * time.Millisecond}} {
		latencies, took, err := k.Send(Same(), l, 200)
		if err != nil || took < l.Duration || len(latencies) == 0 || l.Requests > 0 && len(latencies) != l.Requests {
			t.Errorf("%+v: %d responses in %v, error %v", l, len(latencies), took, err)
		}
	}
}

// dialServer returns a client with n connections to a server that answers with h.
func dialServer(t *testing.T, n int, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	k, err := Dial(s.Listener.Addr().(*net.TCPAddr).Port, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}
