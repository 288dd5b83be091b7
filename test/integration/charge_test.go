package integration

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// charging returns a site with more directives behind a zone that reserves 10 of 1000 and charges by a
// source.
func charging(charge, directives string) string {
	return fmt.Sprintf(`
	rate_limit {
		zone z {
			key all
			limit 1000/24h
			charge %s
		}
	}
	%s`, charge, directives)
}

// A model is an upstream that says what its responses cost, in several ways.
func model(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	stream := func(events ...string) {
		h.Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, "data: "+e+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}
	switch r.URL.Path {
	case "/header":
		h.Set("X-Tokens", "40")
	case "/trailer":
		h.Set("Trailer", "X-Tokens")
		stream(`{}`)
		h.Set("X-Tokens", "41")
	case "/late-trailer":
		stream(`{}`)
		h.Set(http.TrailerPrefix+"X-Tokens", "42")
	case "/json":
		h.Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"usage": {"total_tokens": 43}}`)
	case "/stream":
		stream(`{"choices": [{}]}`, `{"usage": {"total_tokens": 44}}`, "[DONE]")
	case "/gzip":
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			stream(`{"usage": {"total_tokens": 45}}`)
			return
		}
		h.Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		defer func() { _ = zipped.Close() }()
		h.Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(zipped, "data: {\"usage\": {\"total_tokens\": 45}}\n\n")
	case "/always-gzip":
		h.Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "no one can read that")
	case "/no-usage":
		stream(make([]string, 25)...)
	case "/cut":
		stream(`{"usage": {"total_tokens": 2}}`)
		panic(http.ErrAbortHandler)
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/busy":
		h.Set("X-Tokens", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	case "/error":
		h.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"usage": {"total_tokens": 47}}`)
	case "/not-found":
		w.WriteHeader(http.StatusNotFound)
	case "/unauthorized":
		w.WriteHeader(http.StatusUnauthorized)
	case "/sign-in":
		http.Redirect(w, r, "https://sign-in.example", http.StatusFound)
	case "/invalid":
		h.Set("X-Tokens", "many")
	case "/huge":
		h.Set("X-Tokens", "99999999999999999999")
	case "/free":
		h.Set("X-Tokens", "0")
	case "/upgrade":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
			_ = conn.Close()
		}
	}
}

// charges returns what the zone has charged, as soon as no response is under way.
func (g *gateway) charges() (events float64, outcomes string) {
	g.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); g.metric(`caddy_rate_limit_charges_open{zone="z"}`) != 0; {
		if time.Now().After(deadline) {
			g.t.Fatal("reservations are open")
		}
	}
	for _, outcome := range []string{"known", "capped", "unknown", "refunded"} {
		if n := g.metric(`caddy_rate_limit_charges_total{outcome="` + outcome + `",zone="z"}`); n > 0 {
			outcomes += fmt.Sprintf("%s %v ", outcome, n)
		}
	}
	return g.metric(`caddy_rate_limit_charge_events_total{kind="charged",zone="z"}`), strings.TrimSpace(outcomes)
}

// TestCharge charges what the response says, however the response ends. The zone counts as many events.
func TestCharge(t *testing.T) {
	addr := upstream(t, model)
	const header, usage = "{http.response.header.X-Tokens} reserve 10", "usage reserve 10"
	proxied := "reverse_proxy " + addr
	for _, tc := range []struct {
		name, charge, directives, path string
		want                           float64
		outcome                        string
	}{
		{"a header", header, proxied, "/header", 40, "known"},
		{"a header that is removed", header, "header -X-Tokens\n" + proxied, "/header", 40, "known"},
		{"a header of the upstream", "{rp.header.X-Tokens} reserve 10", proxied, "/header", 40, "known"},
		{"a trailer", header, proxied, "/trailer", 41, "known"},
		{"a trailer that was not announced", header, proxied, "/late-trailer", 42, "known"},
		{"no header", header, proxied, "/json", 10, "unknown"},
		{"not a number", header, proxied, "/invalid", 10, "unknown"},
		{"no cost", header, proxied, "/free", 0, "known"},
		{"a huge number", header, proxied, "/huge", 100_000, "capped"},
		{"a lower bound", header + "\ncharge_max 39", proxied, "/header", 39, "capped"},
		{"a variable", "{http.vars.tokens} reserve 10", "vars tokens 12\n" + proxied, "/json", 12, "known"},
		{"usage", usage, proxied, "/json", 43, "known"},
		{"usage of a stream", usage, proxied, "/stream", 44, "known"},
		{"usage of what would be gzip", usage, proxied, "/gzip", 45, "known"},
		{"usage of what the gateway would compress", usage, "encode gzip\n" + proxied, "/stream", 44, "known"},
		{"an encoding that nobody reads", usage, proxied, "/always-gzip", 10, "unknown"},
		{"usage of a handler", usage, `respond "{\"usage\": {\"total_tokens\": 46}}"`, "/", 46, "known"},
		{"no usage in a stream", usage, proxied, "/no-usage", 25, "unknown"},
		{"no usage in a document", usage, proxied, "/header", 10, "unknown"},
		{"a stream that is cut", usage, proxied, "/cut", 10, "unknown"},
		{"a connection that is cut", usage, proxied, "/abort", 0, "refunded"},
		{"a status that refunds", header, proxied, "/busy", 0, "refunded"},
		{"an error with usage", usage, proxied, "/error", 0, "refunded"},
		{"another status that does not refund", usage + " refund_on 5xx", proxied, "/not-found", 10, "unknown"},
		{"a status of 4xx", usage, proxied, "/not-found", 0, "refunded"},
		{"another status that refunds", usage + " refund_on 404", proxied, "/not-found", 0, "refunded"},
		{"an error that does not refund", usage + " refund_on 404", proxied, "/error", 47, "known"},
		{"no upstream", usage, "reverse_proxy 127.0.0.1:1", "/", 0, "refunded"},
		{"an error before the upstream", usage, "error 403", "/", 0, "refunded"},
		{"a response that did not go upstream", usage, "respond ok", "/", 0, "refunded"},
		{"a status that is replaced", header, proxied + " {\n@busy status 429\nhandle_response @busy {\nrespond ok 200\n}\n}", "/busy", 0, "refunded"},
		{"a body that is replaced", usage, proxied + " {\nhandle_response {\nrespond ok 200\n}\n}", "/json", 0, "refunded"},
		{"a body that is copied", usage, proxied + " {\n@all status 2xx\nhandle_response @all {\ncopy_response\n}\n}", "/json", 43, "known"},
		{"an error route", usage, "error 404\nhandle_errors {\nrespond \"{\\\"usage\\\":{\\\"total_tokens\\\":9}}\" 200\n}", "/", 0, "refunded"},
		{"an upgrade", usage, proxied, "/upgrade", 10, "unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := serve(t, charging(tc.charge, tc.directives))
			conn, err := net.Dial("tcp", g.addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: test\r\nAccept-Encoding: gzip\r\n\r\n", tc.path)
			reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && reply.StatusCode != http.StatusSwitchingProtocols {
				_, _ = io.Copy(io.Discard, reply.Body)
			}
			_ = conn.Close()
			got, outcome := g.charges()
			if got != tc.want || outcome != tc.outcome+" 1" {
				t.Errorf("charged %v, %s, want %v, %s", got, outcome, tc.want, tc.outcome)
			}
		})
	}
}

// TestChargeOfClientThatLeaves charges a client that leaves its reservation, or an event for each that was
// streamed. It charges nothing if the request has not gone upstream.
func TestChargeOfClientThatLeaves(t *testing.T) {
	events, gone := make(chan int), make(chan struct{}, 1)
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range <-events {
			_, _ = io.WriteString(w, "data: {\"usage\": {\"total_tokens\": 3}}\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	g := serve(t, charging("usage reserve 10", "reverse_proxy "+addr))
	total := 0.0
	for _, tc := range []struct {
		events int
		want   float64
	}{{0, 10}, {2, 10}, {30, 30}} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() { events <- tc.events }()
		reply, err := g.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.CopyN(io.Discard, reply.Body, int64(tc.events*len("data: {\"usage\": {\"total_tokens\": 3}}\n\n")))
		cancel()
		_ = reply.Body.Close()
		<-gone
		got, outcome := g.charges()
		if got-total != tc.want || !strings.HasPrefix(outcome, "unknown") {
			t.Errorf("%d events: charged %v, %s, want %v", tc.events, got-total, outcome, tc.want)
		}
		total = got
	}
}

// TestChargeIsPaid lets a request with a reservation of 10 pass, whose response costs 5000. After it, no
// request passes.
func TestChargeIsPaid(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Tokens", "5000") })
	g := serve(t, charging("{http.response.header.X-Tokens} reserve 10", "reverse_proxy "+addr))
	g.get("/").is(200)
	r := g.get("/")
	r.rejected()
	// 4010 are missing to admit 10 more, at 1000 a day.
	if wait := r.retryAfter(); wait < 4*86400 || wait > 4*86400+1800 {
		t.Errorf("Retry-After = %d s, want four days", wait)
	}
}

// TestExplainCharge explains what a request would reserve, and what decides its cost.
func TestExplainCharge(t *testing.T) {
	g := serve(t, charging("usage reserve 10 refund_on 503", "respond ok"))
	x := g.explain("GET", "/", nil)
	limit := x.Handlers[0].Zones[0].Limits[0]
	if limit.Cost != 10 || limit.Charge != "usage reserve 10 refund_on 503" {
		t.Errorf("explained: cost %d, charge %q, want the reservation of 10 and the charge", limit.Cost, limit.Charge)
	}
}

// TestChargeAfterAuthentication does not mistake the request of forward_auth for the request to the upstream.
func TestChargeAfterAuthentication(t *testing.T) {
	addr := upstream(t, model)
	site := strings.Replace(charging("usage reserve 10", ""), "rate_limit", "rate_limit_authenticated", 1)
	g := serve(t, "forward_auth "+addr+" {\nuri /header\n}\n"+site+"\nrespond /direct ok\nreverse_proxy "+addr)
	g.get("/direct").is(200)
	if got, outcome := g.charges(); got != 0 || outcome != "refunded 1" {
		t.Errorf("no upstream: charged %v, %s, want nothing, refunded", got, outcome)
	}
	g.get("/busy").is(429)
	g.get("/json").is(200)
	if got, outcome := g.charges(); got != 43 || outcome != "known 1 refunded 2" {
		t.Errorf("charged %v, %s, want 43, known 1 refunded 2", got, outcome)
	}
}
