//go:build linux

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The server holds back the first request, while others become due behind it on the only
// connection.
func TestSteadyLoadMeasuresFromDueInstant(t *testing.T) {
	const held, every, n = 50 * time.Millisecond, time.Millisecond, 60
	var first sync.Once
	k := dialServer(t, 1, func(http.ResponseWriter, *http.Request) {
		first.Do(func() { <-time.After(held) })
	})
	got, _, err := k.send(same(), steady(every, n*every), 200)
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
	_, _, err := k.send(same(), load{requests: 5}, 200)
	if want := "a response with status 429, want 200"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one with %q", err, want)
	}
}

func TestSendEndsWithTheLoad(t *testing.T) {
	k := dialServer(t, 3, func(http.ResponseWriter, *http.Request) {})
	for _, l := range []load{{requests: 1}, {requests: 50}, {duration: 20 * time.Millisecond}} {
		latencies, took, err := k.send(same(), l, 200)
		if err != nil || took < l.duration || len(latencies) == 0 || l.requests > 0 && len(latencies) != l.requests {
			t.Errorf("%+v: %d responses in %v, error %v", l, len(latencies), took, err)
		}
	}
}

// dialServer returns a client with n connections to a server that answers with h.
func dialServer(t *testing.T, n int, h http.HandlerFunc) *client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	k, err := dial(s.Listener.Addr().(*net.TCPAddr).Port, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.close)
	return k
}
