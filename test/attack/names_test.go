package attack

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// victimKeys matches the keys of attackWith in a query or a cookie.
var victimKeys = regexp.MustCompile(`(stolen-)?victim-[a-z0-9]+-[0-9]+`)

// A rewritten is a name that some upstream reads as the name of the key.
type rewritten struct{ upstream, name string }

// waysTo returns the ways to write a key with each of these names: alone, and beside another key under the
// right name.
func waysTo(names []rewritten, write func(name, key, other string) request) (ways []way) {
	for _, name := range names {
		ways = append(ways,
			way{name.upstream + " " + name.name, func(key string, _ int) request { return write(name.name, key, "") }},
			way{name.upstream + " " + name.name + " beside", func(key string, n int) request { return write(name.name, key, fmt.Sprint(n)) }})
	}
	return ways
}

// The upstream reads a parameter of any name as the key, as the upstreams named here do.
func TestRewrittenNamesOfParameterShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string { return victimKeys.FindAllString(r.URL.RawQuery, -1) })
	g := serve(t, zoned("{http.request.uri.query.api_key}"), u.ServeHTTP)
	ways := waysTo([]rewritten{
		{"PHP", "api[key"}, {"PHP", "api.key"}, {"PHP", "api+key"}, {"PHP", "+api_key"}, {"PHP", "api_key%00x"}, {"PHP", "api%5bkey"},
		{"Rack", "[api_key]"}, {"Rack", "api_key]"}, {"Rack", "]api_key"}, {"Rack", "[]api_key"}, {"Rack", "api_key[x"},
		{"qs", "[api_key]"}, {"qs", "[api_key]x"}, {"qs", "%5Bapi_key%5Dx"},
		{"ASP.NET", "API_KEY"}, {"any that folds case", "api_%e2%84%aaey"},
	}, func(name, key, other string) request {
		if other != "" {
			other = "api_key=" + other + "&"
		}
		return get("/?" + other + name + "=" + key)
	})
	plain := func(key string, _ int) request { return get("/?api_key=" + key) }
	attackWith(t, u, protocols(t, g), plain, ways)
	innocent := "/?apikey=1&_token=2&userId=3&%24filter=4&_api_key=5&api_key2=6&%D0%B8%D0%BC%D1%8F=7&=8&&api_key="
	for protocol, do := range protocols(t, g) {
		if status := do(get(innocent + protocol)); status != http.StatusOK {
			t.Errorf("%s: status of a query with other names = %d, want 200", protocol, status)
		}
	}
}

// Ambiguous cookies count by address. The limit of the address is exhausted first.
func TestRewrittenNamesOfCookieShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		return victimKeys.FindAllString(strings.Join(r.Header["Cookie"], ";"), -1)
	})
	g := serve(t, zoned("{http.request.cookie.session_id}"), u.ServeHTTP)
	do := http1(g)
	for range limit {
		if status := do(get("/", field{"Cookie", "session_id=1; session[id=2"})); status != http.StatusOK {
			t.Fatalf("an ambiguous cookie: status %d, want 200", status)
		}
	}
	ways := waysTo([]rewritten{
		{"PHP", "session[id"}, {"PHP", "session.id"}, {"PHP", "session id"}, {"PHP", "session_id[x]"}, {"PHP", "session%5Bid"},
		{"Node", "\xa0session_id"}, {"Node", "session_id\xa0"}, {"Starlette", "\x85session_id"}, {"Django", "session_id\xa0"},
		{"Rack", "%73ession_id"},
	}, func(name, key, other string) request {
		if other != "" {
			other = "session_id=" + other + "; "
		}
		return get("/", field{"Cookie", other + name + "=" + key})
	})
	plain := func(key string, _ int) request { return get("/", field{"Cookie", "session_id=" + key}) }
	attackWith(t, u, protocols(t, g), plain, ways)
	for protocol, do := range protocols(t, g) {
		innocent := "theme=dark; sessionid=1; _session_id=2; session_id2=3; PHPSESSID=4; session_id=" + protocol
		if status := do(get("/", field{"Cookie", innocent})); status != http.StatusOK {
			t.Errorf("%s: status with other cookies = %d, want 200", protocol, status)
		}
	}
}
