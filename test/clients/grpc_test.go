package clients

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A call is what a client got for a call of gRPC.
type call struct {
	err             error
	header, trailer metadata.MD
}

// dial returns a connection to a site of the gateway.
func dial(t *testing.T, addr string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// check calls the health service three times, at a limit of 1/3s burst 2.
func check(t *testing.T, conn *grpc.ClientConn) []call {
	t.Helper()
	client := grpc_health_v1.NewHealthClient(conn)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", t.Name())
	calls := make([]call, 3)
	for i := range calls {
		c := &calls[i]
		_, c.err = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&c.header), grpc.Trailer(&c.trailer))
	}
	return calls
}

// wantCode checks the codes of calls.
func wantCode(t *testing.T, calls []call, want ...codes.Code) {
	t.Helper()
	for i, c := range calls {
		if got := status.Code(c.err); got != want[i] {
			t.Fatalf("call %d: %v, want %v", i+1, c.err, want[i])
		}
	}
}

// wantMetadata checks that each name has this one value.
func wantMetadata(t *testing.T, md metadata.MD, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := md.Get(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s = %q, want %q", name, got, value)
		}
	}
}

// TestGRPCWithoutRecipe shows what the recipe is for: an HTTP rejection is Unavailable to gRPC, as
// if the server were down, and its headers are lost.
func TestGRPCWithoutRecipe(t *testing.T) {
	t.Parallel()
	calls := check(t, dial(t, plainAddr))
	wantCode(t, calls, codes.OK, codes.OK, codes.Unavailable)
	if got := calls[2].err.Error(); !strings.Contains(got, "429 (Too Many Requests)") {
		t.Errorf("error = %s, want one that says 429", got)
	}
	if got := calls[2].trailer.Len() + calls[2].header.Len(); got != 0 {
		t.Errorf("metadata of a rejection = %v, %v; want none", calls[2].header, calls[2].trailer)
	}
}

// TestGRPC reads the limit from admitted calls, and from a rejected call the status that the recipe gives it.
func TestGRPC(t *testing.T) {
	t.Parallel()
	calls := check(t, dial(t, grpcAddr))
	wantCode(t, calls, codes.OK, codes.OK, codes.ResourceExhausted)
	wantMetadata(t, calls[0].header, map[string]string{
		"ratelimit": `"rpc";r=1;t=3`, "ratelimit-policy": `"rpc";q=2;w=6`,
		"x-ratelimit-limit": "2", "x-ratelimit-remaining": "1",
	})
	if got := calls[0].trailer.Len(); got != 0 {
		t.Errorf("trailer of an admitted call = %v, want an empty one", calls[0].trailer)
	}
	retry := seconds(t, strings.Join(calls[2].trailer.Get("retry-after"), ", "))
	wantMetadata(t, calls[2].trailer, map[string]string{
		"ratelimit": fmt.Sprintf(`"rpc";r=0;t=%v`, retry), "grpc-retry-pushback-ms": fmt.Sprint(1000 * retry),
		"cache-control": "no-store",
	})
	want := fmt.Sprintf("Rate limit exceeded, retry in %v s", retry)
	if got := status.Convert(calls[2].err).Message(); got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

// TestGRPCStream rejects a stream while its client still sends.
func TestGRPCStream(t *testing.T) {
	t.Parallel()
	conn := dial(t, grpcAddr)
	wantCode(t, check(t, conn), codes.OK, codes.OK, codes.ResourceExhausted)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", t.Name())
	both := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := conn.NewStream(ctx, both, "/any.Service/Method")
	if err != nil {
		t.Fatal(err)
	}
	err = stream.RecvMsg(&grpc_health_v1.HealthCheckResponse{})
	wantCode(t, []call{{err: err}}, codes.ResourceExhausted)
	seconds(t, strings.Join(stream.Trailer().Get("retry-after"), ", "))
}

// TestGRPCSiteOverHTTP sends requests that are not gRPC to the site with the recipe: they get the
// rejection of HTTP.
func TestGRPCSiteOverHTTP(t *testing.T) {
	t.Parallel()
	for i, want := range []string{"415", "415", "429 text/plain; charset=utf-8 Zone rpc is full."} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+grpcAddr, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Api-Key", t.Name())
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		got := fmt.Sprintf("%d %s %s", r.StatusCode, r.Header.Get("Content-Type"), text)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("response %d = %s, %v; want %s", i+1, got, err, want)
		}
	}
}

// TestGRPCRetry has the client retry: it waits for what the recipe says, not for its own backoff of
// a millisecond.
func TestGRPCRetry(t *testing.T) {
	t.Parallel()
	const policy = `{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 2, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
		"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]
	}}]}`
	start := time.Now()
	calls := check(t, dial(t, grpcAddr, grpc.WithDefaultServiceConfig(policy)))
	wantCode(t, calls, codes.OK, codes.OK, codes.OK)
	if waited := time.Since(start); waited < 3*time.Second || waited > 6*time.Second {
		t.Errorf("waited %s, want 3 s", waited)
	}
}
