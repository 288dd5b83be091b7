package gateway

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A finalRecorder ignores informational statuses, which an httptest.ResponseRecorder takes for
// final.
type finalRecorder struct{ *httptest.ResponseRecorder }

func (w finalRecorder) WriteHeader(status int) {
	if status >= 200 {
		w.ResponseRecorder.WriteHeader(status)
	}
}

// However a handler starts the response, it has our headers, and an informational status does not
// start it.
func TestWriterSetsHeadersWhenResponseStarts(t *testing.T) {
	errNext := errors.New("next has failed")
	for name, next := range map[string]func(http.ResponseWriter) error{
		"writes a status": func(w http.ResponseWriter) error { w.WriteHeader(http.StatusTeapot); return nil },
		"writes a body":   func(w http.ResponseWriter) error { _, err := w.Write([]byte("body")); return err },
		"copies a body": func(w http.ResponseWriter) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("body"))
			return err
		},
		"flushes": func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
		"switches protocols": func(w http.ResponseWriter) error {
			w.WriteHeader(http.StatusSwitchingProtocols)
			return nil
		},
		"writes nothing": func(http.ResponseWriter) error { return nil },
		"fails":          func(http.ResponseWriter) error { return errNext },
	} {
		t.Run(name, func(t *testing.T) {
			h := provisioned(t, `{"rate_limits": {"z": {"key": "all", "limit": {"events": 5, "window": "1m"}}}}`)
			w := finalRecorder{httptest.NewRecorder()}
			err := h.ServeHTTP(w, benchRequest("k"), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
				w.Header().Set("X-RateLimit-Limit", "theirs")
				w.WriteHeader(http.StatusEarlyHints)
				if got := w.Header().Get("X-RateLimit-Limit"); got != "theirs" {
					t.Errorf("X-RateLimit-Limit with 103 = %q, want theirs", got)
				}
				return next(w)
			}))
			if want := map[string]error{"fails": errNext}[name]; !errors.Is(err, want) {
				t.Errorf("error = %v, want %v", err, want)
			}
			if got := w.Header().Get("X-RateLimit-Limit"); got != "5" {
				t.Errorf("X-RateLimit-Limit = %q, want 5", got)
			}
		})
	}
}
