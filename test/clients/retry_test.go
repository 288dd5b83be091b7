package clients

import (
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// A response is a response that a client got, even one that the client hid from the program because it sent
// another request.
type response struct {
	Status     int
	RetryAfter string
	MS         float64 // when it came, in milliseconds since some instant
}

// checkRetry checks the responses to three requests of a key of 1/3s burst 2: the client repeats the third
// request after the wait that Retry-After tells, and the repeated request is admitted.
func checkRetry(t *testing.T, responses []response) {
	t.Helper()
	checkStatuses(t, responses, 200, 200, 429, 200)
	checkWait(t, responses, seconds(t, responses[2].RetryAfter))
}

func checkStatuses(t *testing.T, responses []response, want ...int) {
	t.Helper()
	ok := len(responses) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = responses[i].Status == want[i] && (responses[i].RetryAfter != "") == (want[i] == 429)
	}
	if !ok {
		t.Fatalf("responses = %+v, want %v, and Retry-After with 429 only", responses, want)
	}
}

// checkWait checks the time between the third response and the response to the retry.
func checkWait(t *testing.T, responses []response, want float64) {
	t.Helper()
	// A timer of Node may be early by a millisecond.
	if waited := (responses[3].MS - responses[2].MS) / 1000; waited < want-0.01 || waited > want+2 {
		t.Errorf("waited %.3f s, want %.0f s", waited, want)
	}
}

// seconds reads the Retry-After of a request that comes soon after the first request of its key.
func seconds(t *testing.T, retryAfter string) float64 {
	t.Helper()
	if retryAfter != "3" && retryAfter != "2" {
		t.Fatalf("Retry-After = %q, want 3, or 2 on a slow machine", retryAfter)
	}
	return float64(retryAfter[0] - '0')
}

func TestNodeGot(t *testing.T) {
	t.Parallel()
	checkRetry(t, node[[]response](t, "got.js", "/retry", t.Name()))
}

// TestNodeGotPost shows that got does not retry POST by itself.
func TestNodeGotPost(t *testing.T) {
	t.Parallel()
	checkStatuses(t, node[[]response](t, "got.js", "/retry", t.Name(), "POST"), 200, 200, 429)
}

func TestNodeUndiciRetryAgent(t *testing.T) {
	t.Parallel()
	checkRetry(t, node[[]response](t, "undici.js", "/retry", t.Name(), "agent"))
}

func TestNodeUndiciInterceptor(t *testing.T) {
	t.Parallel()
	checkRetry(t, node[[]response](t, "undici.js", "/retry", t.Name(), "interceptor"))
}

// TestNodeUndiciPost shows that undici does not retry POST by itself.
func TestNodeUndiciPost(t *testing.T) {
	t.Parallel()
	checkStatuses(t, node[[]response](t, "undici.js", "/retry", t.Name(), "agent", "{}", "POST"), 200, 200, 429)
}

// TestNodeUndiciMaxTimeout shows that undici waits no longer than maxTimeout, which is 30 s by default, and
// then asks too early. A limit with longer waits needs a higher maxTimeout.
func TestNodeUndiciMaxTimeout(t *testing.T) {
	t.Parallel()
	responses := node[[]response](t, "undici.js", "/retry", t.Name(), "agent", `{"maxTimeout":1000}`)
	if len(responses) < 5 {
		t.Fatalf("responses = %+v, want more: undici asks too early", responses)
	}
	checkStatuses(t, responses[:4], 200, 200, 429, 429)
	checkStatuses(t, responses[len(responses)-1:], 200)
	seconds(t, responses[2].RetryAfter)
	checkWait(t, responses, 1)
}

// TestGoRetryableHTTP has requests of every method retried, even of POST.
func TestGoRetryableHTTP(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			checkRetry(t, retryableHTTP(t, method))
		})
	}
}

// retryableHTTP sends three requests with go-retryablehttp in its default settings.
func retryableHTTP(t *testing.T, method string) (responses []response) {
	t.Helper()
	client := retryablehttp.NewClient()
	client.Logger = nil
	start := time.Now()
	client.ResponseLogHook = func(_ retryablehttp.Logger, r *http.Response) {
		ms := time.Since(start).Seconds() * 1000
		responses = append(responses, response{r.StatusCode, r.Header.Get("Retry-After"), ms})
	}
	for range 3 {
		request, err := retryablehttp.NewRequestWithContext(t.Context(), method, "http://"+httpAddr+"/retry", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Api-Key", t.Name())
		r, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
	}
	return responses
}
