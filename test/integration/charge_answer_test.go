package integration

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestChargeOfAnswer charges only what an upstream has answered to the client, but neither what another
// upstream has answered before, nor what a handler has written in place of the answer.
func TestChargeOfAnswer(t *testing.T) {
	addr := upstream(t, model)
	auth := func(path string) string { return "forward_auth " + addr + " {\nuri " + path + "\n}\n" }
	then := func(matcher, routes string) string {
		return fmt.Sprintf("reverse_proxy %s {\n@it %s\nhandle_response @it {\n%s\n}\n}", addr, matcher, routes)
	}
	proxied, dead := "reverse_proxy "+addr, "reverse_proxy 127.0.0.1:1"
	const strict = "usage reserve 10 refund_on 429"
	for _, tc := range []struct {
		name, charge, directives, path string
		want                           float64
		outcome                        string
	}{
		{"no access", "", auth("/unauthorized") + proxied, "/json", 0, "refunded"},
		{"no access, whatever refunds", strict, auth("/unauthorized") + proxied, "/json", 0, "refunded"},
		{"a sign-in", "", auth("/sign-in") + proxied, "/json", 0, "refunded"},
		{"a sign-in, whatever refunds", strict, auth("/sign-in") + proxied, "/json", 0, "refunded"},
		{"an authentication that is dead", "", "forward_auth 127.0.0.1:1 {\nuri /\n}\n" + proxied, "/json", 0, "refunded"},
		{"access", "", auth("/header") + proxied, "/json", 43, "known"},
		{"access without usage", "", auth("/header") + proxied, "/no-usage", 25, "unknown"},
		{"access to a dead model", "", auth("/header") + dead, "/", 0, "refunded"},
		{"access to a dead model, whatever refunds", strict, auth("/header") + dead, "/", 0, "refunded"},
		{"access to a dead model with an error route", "", auth("/header") + dead + "\nhandle_errors {\nrespond sorry 200\n}", "/", 0, "refunded"},
		{"access to a dead model with another one", "", auth("/header") + dead + "\nhandle_errors {\n" + proxied + "\n}", "/json", 0, "refunded"},
		{"access and a text", "", auth("/header") + "respond ok", "/", 0, "refunded"},
		{"access and an error", strict, auth("/header") + "error 418", "/", 0, "refunded"},
		{"access and a redirect", "", auth("/header") + "redir * /elsewhere", "/", 0, "refunded"},
		{"access and a file", "", auth("/header") + "root testdata\nfile_server browse", "/", 0, "refunded"},
		{"two times access", "", auth("/header") + auth("/free") + "respond ok", "/", 0, "refunded"},
		{"an error that is replaced", "", then("status 5xx", "respond sorry 200"), "/error", 0, "refunded"},
		{"an error, then another model", "", then("status 5xx", "rewrite /json\n"+proxied), "/error", 43, "known"},
		{"an error, then a dead model", "", then("status 5xx", dead), "/error", 0, "refunded"},
		{"an answer that is copied", "", then("status 2xx", "copy_response"), "/no-usage", 25, "unknown"},
		{"an answer with another status", "", proxied + " {\nreplace_status 207\n}", "/no-usage", 25, "unknown"},
		{"an error with another status", "", proxied + " {\n@busy status 429\nreplace_status @busy 200\n}", "/busy", 0, "refunded"},
		{"headers that are copied", "", then("status 2xx", "copy_response_headers\nrespond ok"), "/no-usage", 0, "refunded"},
		{"an error that is intercepted", "", "intercept {\n@it status 5xx\nhandle_response @it {\nrespond sorry 200\n}\n}\n" + proxied, "/error", 0, "refunded"},
		{"a sign-in that is intercepted", strict, "intercept {\n@it status 302\nhandle_response @it {\nrespond sorry 200\n}\n}\n" + auth("/sign-in") + proxied, "/json", 0, "refunded"},
		{"without Via", "", "header -Via\n" + proxied, "/no-usage", 25, "unknown"},
		{"without Server", "", "header -Server\n" + proxied, "/no-usage", 25, "unknown"},
		{"without both", "", "header {\n-Via\n-Server\n}\n" + proxied, "/no-usage", 25, "unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			charge := tc.charge
			if charge == "" {
				charge = "usage reserve 10"
			}
			site, errors, _ := strings.Cut(tc.directives, "\nhandle_errors")
			if errors != "" {
				errors = "\nhandle_errors" + errors
			}
			g := serve(t, "route {\n"+charging(charge, site)+"\n}"+errors)
			if reply, err := g.client.Get("http://" + g.addr + tc.path); err == nil { // it fails if the response that replaces another one has another length
				_, _ = io.Copy(io.Discard, reply.Body)
				_ = reply.Body.Close()
			}
			if got, outcome := g.charges(); got != tc.want || outcome != tc.outcome+" 1" {
				t.Errorf("charged %v, %s, want %v, %s", got, outcome, tc.want, tc.outcome)
			}
		})
	}
}

// TestStrangersUseNoTokens sends many requests that fail at the authentication. After that, all tokens of the
// key are left.
func TestStrangersUseNoTokens(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/check" && r.Header.Get("Authorization") != "good" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	g := serve(t, "route {\n"+charging("usage reserve 600", "forward_auth "+addr+" {\nuri /check\n}\nreverse_proxy "+addr)+"\n}")
	for range 20 {
		g.get("/").is(401)
	}
	g.get("/", "Authorization: good").is(200)
	if got, outcome := g.charges(); got != 600 || outcome != "unknown 1 refunded 20" {
		t.Errorf("charged %v, %s, want 600, unknown 1 refunded 20", got, outcome)
	}
}

// TestChargeOfClientThatLeavesEarly has a client hang up while a second model works, which stands in for the
// first one. The client is charged its reservation: what the first model has answered does not matter.
func TestChargeOfClientThatLeavesEarly(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		close(asked)
		<-r.Context().Done()
		close(gone)
	})
	g := serve(t, charging("usage reserve 10", "reverse_proxy "+addr+" {\n@busy status 429\nhandle_response @busy {\nrewrite /other\nreverse_proxy "+addr+"\n}\n}"))
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-asked
	_ = conn.Close()
	<-gone
	if got, outcome := g.charges(); got != 10 || outcome != "unknown 1" {
		t.Errorf("charged %v, %s, want 10, unknown", got, outcome)
	}
}
