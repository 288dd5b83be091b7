package response

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestEnding has handlers answer in all the ways there are. It checks that the same status is told when the
// response starts and when it ends, in this order and once each.
func TestEnding(t *testing.T) {
	writes := func(status int) caddyhttp.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(status)
			return nil
		}
	}
	canceled := func(err error) caddyhttp.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) error {
			r.Context().Value(cancelKey{}).(context.CancelFunc)()
			return err
		}
	}
	for name, tc := range map[string]struct {
		next caddyhttp.HandlerFunc
		want int
	}{
		"a status":               {writes(401), 401},
		"none":                   {func(http.ResponseWriter, *http.Request) error { return nil }, 200},
		"the first of two":       {func(w http.ResponseWriter, r *http.Request) error { w.WriteHeader(403); return writes(200)(w, r) }, 403},
		"after an informational": {func(w http.ResponseWriter, r *http.Request) error { w.WriteHeader(103); return writes(404)(w, r) }, 404},
		"a body":                 {func(w http.ResponseWriter, _ *http.Request) error { _, err := io.WriteString(w, "x"); return err }, 200},
		"a body that is copied": {func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.Copy(w, strings.NewReader("x"))
			return err
		}, 200},
		"a flush":           {func(w http.ResponseWriter, _ *http.Request) error { return http.NewResponseController(w).Flush() }, 200},
		"an upgrade":        {writes(101), 101},
		"an error of Caddy": {func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(502, io.EOF) }, 502},
		"another error":     {func(http.ResponseWriter, *http.Request) error { return io.EOF }, 500},
		"an error after a status": {func(w http.ResponseWriter, r *http.Request) error {
			_ = writes(403)(w, r)
			return io.EOF
		}, 403},
		"an error without a status": {func(http.ResponseWriter, *http.Request) error { return caddyhttp.HandlerError{} }, 500},
		"a panic":                   {func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }, 0},
		"a panic after a status": {func(w http.ResponseWriter, r *http.Request) error {
			_ = writes(200)(w, r)
			panic(http.ErrAbortHandler)
		}, 200},
		"the client has gone": {canceled(caddyhttp.Error(499, context.Canceled)), 0},
		"the client has gone, in writing": {func(w http.ResponseWriter, r *http.Request) error {
			_ = canceled(nil)(w, r)
			return writes(499)(w, r)
		}, 0},
		"an upstream's own 499":           {writes(499), 499},
		"the client has gone in silence":  {canceled(nil), 0},
		"the client has gone after a 401": {func(w http.ResponseWriter, r *http.Request) error { w.WriteHeader(401); return canceled(nil)(w, r) }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			var told []string
			s.OnStatus(func(status int) { told = append(told, fmt.Sprint("status ", status)) })
			s.AtEnd(func(status int) { told = append(told, fmt.Sprint("end ", status)) })
			serveToEnd(t, &s, tc.next)
			want := []string{fmt.Sprint("status ", tc.want), fmt.Sprint("end ", tc.want)}
			if !slices.Equal(told, want) {
				t.Errorf("told = %q, want %q", told, want)
			}
			if s.IsAwaited() {
				t.Error("the response is still awaited after its end")
			}
		})
	}
}

type cancelKey struct{}

// serveToEnd has next answer a request through s, and swallows a panic as net/http does.
func serveToEnd(t *testing.T, s *State, next caddyhttp.Handler) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := httptest.NewRequestWithContext(context.WithValue(ctx, cancelKey{}, cancel), "GET", "/", nil)
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			t.Errorf("panic: %v", p)
		}
	}()
	_ = s.Serve(httptest.NewRecorder(), r, 0, next)
}

// TestIsCut has clients leave and handlers panic, before and after the whole body was sent.
func TestIsCut(t *testing.T) {
	leave := func(r *http.Request) { r.Context().Value(cancelKey{}).(context.CancelFunc)() }
	for name, tc := range map[string]struct {
		length, body string
		end          func(r *http.Request)
		want         bool
	}{
		"the whole body":               {"4", "body", leave, false},
		"a part":                       {"4", "bod", leave, true},
		"a body of unknown length":     {"", "body", leave, true},
		"a client that stays":          {"", "body", func(*http.Request) {}, false},
		"a panic":                      {"", "body", func(*http.Request) { panic(http.ErrAbortHandler) }, true},
		"a panic after the whole body": {"4", "body", func(*http.Request) { panic(http.ErrAbortHandler) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			s.OnBody(func([]byte) {})
			s.AtEnd(func(int) {
				if got := s.IsCut(); got != tc.want {
					t.Errorf("the body is cut: %v, want %v", got, tc.want)
				}
			})
			serveToEnd(t, &s, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
				w.Header().Set("Content-Length", tc.length)
				_, err := io.WriteString(w, tc.body)
				tc.end(r)
				return err
			}))
		})
	}
}

// TestEndingOfSeveralHandlers has a second handler register functions within the response of the first one.
// An error that the second handler returns tells them nothing yet: error routes between the two may still
// answer it.
func TestEndingOfSeveralHandlers(t *testing.T) {
	var s State
	var told []int
	s.AtEnd(func(int) {})
	serveToEnd(t, &s, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		s.OnStatus(func(status int) { told = append(told, status) })
		err := s.Serve(w, r, 0, caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
			return errors.New("fails")
		}))
		if err == nil || len(told) > 0 {
			t.Errorf("error = %v, told = %v, want an error and nothing told", err, told)
		}
		w.WriteHeader(302)
		s.OnStatus(func(status int) { told = append(told, -status) })
		return nil
	}))
	if !slices.Equal(told, []int{302, -302}) {
		t.Errorf("told = %v, want 302 and at once -302", told)
	}
}

// TestEndingOfHijackedConnection has a handler hijack the connection and write a response to it.
func TestEndingOfHijackedConnection(t *testing.T) {
	told := make(chan int, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s State
		s.OnStatus(func(status int) { told <- status })
		s.AtEnd(func(status int) { told <- -status })
		_ = s.Serve(w, r, 0, caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return err
			}
			if status := <-told; status != 101 {
				t.Errorf("status when it is hijacked = %d, want 101", status)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			return conn.Close()
		}))
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if status := <-told; status != -101 || response.StatusCode != 204 {
		t.Errorf("status at the end = %d of a response with %d, want -101 and 204", status, response.StatusCode)
	}
}
