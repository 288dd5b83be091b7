package gateway

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A dearKind is a kind of requests that clients can make dear, with zones that read the dear part
// of the request.
type dearKind struct {
	name     string
	zones    int
	settings string   // of each zone
	requests []string // after the method, without the last line
	body     string   // of the response
}

func dearKinds() []dearKind {
	many := strings.Repeat
	paths := []string{
		many("//", 1500), "/" + many("%2f", 1000), "/" + many(";", 3000), "//h/a%2fb;c//" + many("x/", 1500), "/" + many("a%2fb;c/", 370),
		"/" + many("a%2fb;c/", 40) + many("abcd", 700), "/" + many("a//b%2fc;d/", 12) + many("%C3%A9", 460), "/" + many("%2f;/", 30) + many("ab/", 900),
		"/index.php" + many("/%3fa;b", 18) + many("x", 2900), "/" + many("abc/", 750), "/" + many("%25", 1000), "//h" + many("/a;b", 31) + many("x/", 1400),
	}
	var pathRequests []string
	for _, p := range paths {
		pathRequests = append(pathRequests, p+" HTTP/1.1\r\nHost: a")
	}
	header := func(lines ...string) []string {
		return []string{"/ HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n")}
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("X-Api-Key%d: %s", i, many(" a", 24)))
	}
	const key = `"key": "{http.request.header.X-Api-Key}", "limit": "1000000000/1m"`
	return []dearKind{
		{"path of 3 kB, zones with a match", 10, key + `, "match": [{"path": ["/v%d/*", "*/x%d/*", "/*/y%d/*"]}]`, pathRequests, ""},
		{"path of 3 kB, zones with endpoints", 10, key + `, "endpoints": [{"path": "/v%d/*/x", "limit": "5/1m"},
			{"path": "*/admin/*", "limit": "6/1m"}, {"path": "/users/*/posts", "limit": "7/1m"}]`, pathRequests, ""},
		{"path of 3 kB, many zones", 1000, key + `, "match": [{"path": ["/v%d/*"]}]`, pathRequests, ""},
		{"path of 3 kB, zones with path_regexp", 10, key + `, "match": [{"path_regexp": {"pattern": "^/v%d/"}}, {"path": ["/w%d%2f*"]}]`,
			pathRequests, ""},
		{"value of a key of 8 kB", 10, key, append(header("X-Api-Key: "+many("a ", 4000)), header(many("X-Api-Key: a\r\n", 600)+"X: y")...), ""},
		{"cookies of 16 kB", 10, `"key": "{http.request.cookie.session}", "limit": "1000000000/1m"`, append(
			header("Cookie: "+many("session%5b=a; ", 1150)+"session=b"), header("Cookie: "+many("a;", 8000)+"session=b")...), ""},
		{"query of 16 kB", 10, `"key": "{http.request.uri.query.api_key}", "limit": "1000000000/1m"`, []string{
			"/?" + many("api[key=a&", 1600) + " HTTP/1.1\r\nHost: a", "/?" + many("%61%70%69%5f%6b%65y=&", 760) + " HTTP/1.1\r\nHost: a",
			"/?" + many("a&", 8000) + "api_key=b HTTP/1.1\r\nHost: a",
		}, ""},
		{"1000 headers", 10, key + `, "match": [{"header": {"X-Plan": ["%d*"]}}, {"method": ["GET"]}]`, header(names...), ""},
		{"body of 1 MB, charged", 1, `"key": "all", "limit": "1000000000/1m", "charge": {"from": "usage", "reserve": 1}`,
			header("X: y"), `{"choices":[` + many(`{"text":"\"a\\"},`, 60_000) + `{}],"usage":{"total_tokens":5}}`},
	}
}

// BenchmarkDearestRequests measures the dearest known request of each kind: how long Caddy takes
// for it, and how much ten zones add. It takes the least of many rounds, so that other programs on
// the machine disturb it little.
func BenchmarkDearestRequests(b *testing.B) {
	for _, kind := range dearKinds() {
		var zones []string
		for i := range kind.zones {
			zones = append(zones, fmt.Sprintf(`"z%d": {%s}`, i, strings.ReplaceAll(kind.settings, "%d", fmt.Sprint(i))))
		}
		h := provisioned(b, `{"rate_limits": {`+strings.Join(zones, ",")+`}}`)
		body := []byte(kind.body)
		next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			for sent := 0; sent < len(body); sent += 32 << 10 {
				if _, err := w.Write(body[sent:min(len(body), sent+32<<10)]); err != nil {
					return err
				}
			}
			return nil
		})
		b.Run(strings.ReplaceAll(kind.name, " ", "-"), func(b *testing.B) {
			var caddys, above time.Duration
			for b.Loop() {
				caddys, above = 0, 0
				for _, request := range kind.requests {
					plain, limited := time.Hour, time.Hour
					for range 30 {
						plain = min(plain, serveText(b, request, nil, next))
						limited = min(limited, serveText(b, request, h, next))
					}
					if limited-plain > above {
						caddys, above = plain, limited-plain
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(caddys.Microseconds()), "us-Caddy")
			b.ReportMetric(float64(above.Microseconds()), "us-above")
		})
	}
}

// serveText returns how long it takes to read a request, and to serve it: by h and next, or by next
// alone if h is nil.
func serveText(b *testing.B, text string, h *Handler, next caddyhttp.Handler) time.Duration {
	reader, w := strings.NewReader("GET "+text+"\r\n\r\n"), newBenchWriter()
	start := time.Now()
	r, err := http.ReadRequest(bufio.NewReader(reader))
	if err != nil {
		b.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, benchServer)
	if h == nil {
		err = next.ServeHTTP(w, r)
	} else {
		err = h.ServeHTTP(w, r, next)
	}
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	return took
}

var benchServer = new(caddyhttp.Server)
