package zone

import (
	"net/http/httptest"
	"strings"
	"testing"
)

const zoneWithEndpoints = `{"key": "all", "limit": "1000000000/1m", "endpoints": [
	{"methods": ["POST"], "path": "/login", "limit": "5/1m"}, {"path": "/users/*/export", "limit": "5/1m"},
	{"path": "*/admin/*", "limit": "5/1m"}, {"path": "*.json", "limit": "5/1m"}, {"path": "/a*b*c/*/x", "limit": "5/1m"},
	{"path": "/@scope%2f*", "limit": "5/1m"}, {"path": "/login.php", "limit": "5/1m"}, {"path": "/public/*", "limit": "5/1m"}]}`

// hostilePaths are paths with several readings, of at most 4 or 8 kB, whose endpoints take longest to
// find.
var hostilePaths = map[string]string{
	"long segment":   "//h/a%2fb;c/" + strings.Repeat("x", 4000),
	"many segments":  "//h/a%2fb;c/" + strings.Repeat("x/", 2000),
	"after users":    "/users/a%2fb;c/" + strings.Repeat("users/", 650),
	"encoded":        "/" + strings.Repeat("%2fa", 127) + strings.Repeat("/abc", 800),
	"parameters":     "//" + strings.Repeat("a;b/", 60) + strings.Repeat("/admi", 750),
	"too long":       "//h/a%2fb;c/" + strings.Repeat("x", 8000),
	"one reading":    "/" + strings.Repeat("Abc/", 2000),
	"double escapes": "/" + strings.Repeat("%2541", 1600),
}

func BenchmarkEndpoints(b *testing.B) {
	z := compiledZone(b, zoneWithEndpoints)
	paths := map[string]string{"plain": "/v1/users/12345/posts", "first": "/login", "semicolon": "/v1/users;a=1/posts"}
	for name, path := range hostilePaths {
		paths["hostile-"+strings.ReplaceAll(name, " ", "-")] = path
	}
	for name, path := range paths {
		b.Run("path="+name, func(b *testing.B) {
			b.ReportAllocs()
			post := httptest.NewRequest("POST", "http://a"+path, nil)
			for b.Loop() {
				_, _ = z.placesOf(&Request{HTTP: post}, z.configured, new(Reading))
			}
		})
	}
}
