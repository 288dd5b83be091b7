package integration

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// A reply is a response whose body has been read.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   string
	at     time.Time // when the response was read
}

func readReply(t *testing.T, resp *http.Response) *reply {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	return &reply{t: t, status: resp.StatusCode, header: resp.Header, body: string(body), at: time.Now()}
}

// is checks the status.
func (r *reply) is(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Errorf("status = %d, want %d; body %q, headers %v", r.status, status, r.body, r.header)
	}
	return r
}

// has checks that the response has the header once, with this value.
func (r *reply) has(name, value string) *reply {
	r.t.Helper()
	if got := r.header.Values(name); len(got) != 1 || got[0] != value {
		r.t.Errorf("%s = %q, want one value, %q", name, got, value)
	}
	return r
}

// lacks checks that the response does not have the header.
func (r *reply) lacks(name string) *reply {
	r.t.Helper()
	if got := r.header.Values(name); len(got) > 0 {
		r.t.Errorf("%s = %q, want none", name, got)
	}
	return r
}

// admitted checks that the request was admitted, and what remains in the zone with the least left.
func (r *reply) admitted(remaining int) *reply {
	r.t.Helper()
	return r.is(http.StatusOK).has("X-RateLimit-Remaining", strconv.Itoa(remaining))
}

// rejected checks that the response is a complete 429.
func (r *reply) rejected() *reply {
	r.t.Helper()
	r.is(http.StatusTooManyRequests).has("Cache-Control", "no-store")
	if s := r.retryAfter(); s < 1 {
		r.t.Errorf("Retry-After = %d, want 1 or more", s)
	}
	return r
}

// retryAfter returns the seconds of Retry-After.
func (r *reply) retryAfter() int64 {
	r.t.Helper()
	return r.number("Retry-After")
}

// number returns the value of a header that must occur once and be a number.
func (r *reply) number(name string) int64 {
	r.t.Helper()
	values := r.header.Values(name)
	if len(values) != 1 {
		r.t.Errorf("%s = %q, want one value", name, values)
		return 0
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		r.t.Errorf("%s = %q, want a number", name, values[0])
	}
	return n
}

// An item has the parameters of a member of RateLimit or RateLimit-Policy, -1 for a parameter that is
// missing.
type item struct{ q, w, r, t int64 }

// limits returns the items of RateLimit by zone.
func (r *reply) limits() map[string]item { r.t.Helper(); return r.items("RateLimit", "r") }

// policies returns the items of RateLimit-Policy by zone.
func (r *reply) policies() map[string]item { r.t.Helper(); return r.items("RateLimit-Policy", "q") }

// items parses a draft header by RFC 9651. Each item must have the parameter required.
func (r *reply) items(header, required string) map[string]item {
	r.t.Helper()
	values := r.header.Values(header)
	if len(values) != 1 {
		r.t.Errorf("%s = %q, want one field line", header, values)
		return nil
	}
	list, err := httpsfv.UnmarshalList(values)
	if err != nil {
		r.t.Errorf("%s = %q is not a structured list: %v", header, values, err)
		return nil
	}
	items := make(map[string]item)
	for _, member := range list {
		m, ok := member.(httpsfv.Item)
		name, isString := m.Value.(string)
		if !ok || !isString {
			r.t.Errorf("%s = %q: want Strings with parameters, got %#v", header, values, member)
			continue
		}
		if _, found := items[name]; found {
			r.t.Errorf("%s = %q: zone %q occurs twice", header, values, name)
		}
		parameter := func(name string) int64 {
			v, found := m.Params.Get(name)
			n, isInteger := v.(int64)
			if found && !isInteger || !found && name == required {
				r.t.Errorf("%s = %q: parameter %s = %v, want an Integer", header, values, name, v)
			}
			if !found {
				return -1
			}
			return n
		}
		items[name] = item{q: parameter("q"), w: parameter("w"), r: parameter("r"), t: parameter("t")}
	}
	return items
}

// time returns the value of a member of the body that is a time.
func (r *reply) time(member string) time.Time {
	r.t.Helper()
	_, tail, _ := strings.Cut(r.body, `"`+member+`":"`)
	text, _, _ := strings.Cut(tail, `"`)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.t.Fatalf("%s of %s: %v", member, r.body, err)
	}
	return at
}
