package attack

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/quic-go/quic-go/http3"
)

// An upstream must not set our headers as trailers.
func TestUpstreamTrailersAreRemoved(t *testing.T) {
	g := serve(t, strings.Replace(zoned("all"), "limit 3", "limit 1000", 1), func(w http.ResponseWriter, r *http.Request) {
		name := "X-RateLimit-Remaining"
		if r.URL.Path == "/announced" {
			w.Header().Set("Trailer", name)
		} else {
			w.(http.Flusher).Flush()
			name = http.TrailerPrefix + name
		}
		_, _ = io.WriteString(w, "hello")
		w.Header().Set(name, "999")
	})
	insecure := &tls.Config{InsecureSkipVerify: true, ServerName: hostName}
	over3 := &http3.Transport{TLSClientConfig: insecure.Clone()}
	defer func() { _ = over3.Close() }()
	over2 := &http.Transport{TLSClientConfig: insecure.Clone(), ForceAttemptHTTP2: true}
	over1 := &http.Transport{TLSClientConfig: insecure.Clone(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	for major, transport := range map[int]http.RoundTripper{1: over1, 2: over2, 3: over3} {
		for _, path := range []string{"/announced", "/unannounced"} {
			req, err := http.NewRequest(http.MethodGet, "https://"+g.tls+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if got := resp.Trailer.Get("X-RateLimit-Remaining"); resp.ProtoMajor != major || got != "" {
				t.Errorf("HTTP/%d, %s: HTTP/%d with the trailer %q, want none", major, path, resp.ProtoMajor, got)
			}
		}
	}
	over1.CloseIdleConnections()
	over2.CloseIdleConnections()
}
