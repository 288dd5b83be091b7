package integration

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A traceReceiver is the receiver of the spans that Caddy exports.
type traceReceiver struct {
	mu    sync.Mutex
	spans []*otlp.Span
}

// receiveTraces starts a receiver, and has the next tracing handler of this process export to it.
func receiveTraces(t *testing.T) *traceReceiver {
	t.Helper()
	to := new(traceReceiver)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var export collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &export); err != nil {
			t.Error(err)
		}
		to.mu.Lock()
		defer to.mu.Unlock()
		for _, resource := range export.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				to.spans = append(to.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	return to
}

// attributesOf waits for the span of a path, and returns its attributes about limits in their order.
func (to *traceReceiver) attributesOf(t *testing.T, path string) string {
	t.Helper()
	var found []string
	redistest.Eventually(t, "the span of "+path, func() bool {
		to.mu.Lock()
		defer to.mu.Unlock()
		for _, span := range to.spans {
			of := false
			found = nil
			for _, a := range span.Attributes {
				text := a.Value.GetStringValue()
				if text == "" {
					text = fmt.Sprint(a.Value.GetIntValue())
				}
				of = of || a.Key == "url.path" && text == path
				if name, ours := strings.CutPrefix(a.Key, "rate_limit."); ours {
					found = append(found, name+"="+text)
				}
				if strings.Contains(text, "alice") || span.DroppedAttributesCount > 0 {
					t.Errorf("the span has the key in %s, or has dropped %d attributes", a.Key, span.DroppedAttributesCount)
				}
			}
			if of {
				return true
			}
		}
		return false
	})
	return strings.Join(found, " ")
}

func TestSpansHaveDecisions(t *testing.T) {
	traces := receiveTraces(t)
	const site = "%srate_limit {\ndeny 203.0.113.7\nallow 198.51.100.1\nzone user {\nkey {header.X-User}\nlimit 2/1m burst 3\nmatch {\nnot path /at-once\n}\n" +
		"tier {header.X-Tier} trusted {\npro 3/1h\n}\nendpoint POST /export block\ndeny_key bad\n}\n" +
		"zone at_once {\nkey {header.X-User}\nconcurrent 9\nmatch {\npath /at-once\n}\n}\n}\nrespond hello"
	g := serve(t, fmt.Sprintf(site, "tracing\n"))
	for _, tc := range []struct {
		method, path, want string
		headers            []string
	}{
		{"GET", "/1", "zone=user outcome=admitted source=store rule=2/1m burst 3 remaining=2", []string{alice}},
		{"GET", "/2", "zone=user outcome=admitted source=store rule=2/1m burst 3 remaining=1", []string{alice}},
		{"GET", "/3", "zone=user outcome=admitted source=store rule=2/1m burst 3 remaining=0", []string{alice}},
		{"GET", "/4", "zone=user outcome=rejected source=store rule=2/1m burst 3 remaining=0", []string{alice}},
		{"GET", "/5", "zone=user outcome=admitted source=store rule=3/1h tier=pro remaining=2", []string{"X-User: pat", "X-Tier: pro"}},
		{"POST", "/export", "zone=user outcome=rejected source=store rule=block endpoint=POST /export remaining=0", []string{alice}},
		{"GET", "/at-once", "zone=at_once outcome=admitted source=store rule=concurrent 9 remaining=8", []string{alice}},
		{"GET", "/6", "zone=user outcome=denied reason=denied_key", []string{"X-User: bad"}},
		{"GET", "/7", "outcome=denied reason=denied_address", []string{from("203.0.113.7")}},
		{"GET", "/8", "", []string{from("198.51.100.1")}},
	} {
		g.request(tc.method, tc.path, tc.headers...)
		got := strings.Fields(traces.attributesOf(t, tc.path))
		want := strings.Fields(tc.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("attributes of %s %s = %s, want %s", tc.method, tc.path, got, want)
		}
	}

	// Without tracing, there is no span. With tracing in an outer route, there is one again.
	g.reload(fmt.Sprintf(site, ""))
	g.get("/9", alice)
	g.reload("route {\ntracing\nroute {\n" + fmt.Sprintf(site, "") + "\n}\n}")
	g.get("/10", "X-User: bob")
	if got := traces.attributesOf(t, "/10"); !strings.HasPrefix(got, "zone=user outcome=admitted") {
		t.Errorf("attributes in a nested route = %q", got)
	}
}
