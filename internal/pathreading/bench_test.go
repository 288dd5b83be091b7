package pathreading

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// hostile returns the paths of at most this length that take longest.
func hostile(length int) (paths []string) {
	for _, p := range []struct{ front, repeated string }{
		{"/", "%2f"}, {"/", "/a%2fb"}, {"//", "a;b/"}, {"//h/a%2fb;c//", "x"}, {"//h/a%2fb;c//", "x/"}, {"//h/", "a%2fb;c%2fd/"},
		{"/", "a%2fb;c%2fd%3be/"}, {"/", "%25"}, {"/", "%2541"}, {"/", ".a/"}, {"/a;b%2fc/", "É"}, {"/", "%41"},
		{"//" + strings.Repeat("%2f;", maxParts/2-2) + "/", "X"}, {"/" + strings.Repeat("%3ba/", maxParts/2-2) + "//", "x"},
	} {
		front := (&url.URL{Path: p.repeated}).EscapedPath()
		if strings.Contains(p.repeated, "%") {
			front = p.repeated
		}
		paths = append(paths, p.front+strings.Repeat(front, (length-len(p.front))/len(front)))
	}
	return paths
}

func parse(t testing.TB, path string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestLoadOfHostilePaths takes the fastest of many runs, which other programs on the machine do
// not disturb. The bound is four times what the slowest takes.
func TestLoadOfHostilePaths(t *testing.T) {
	const most = 400 * time.Microsecond
	for _, length := range []int{1024, maxLength, 8192} {
		for _, path := range hostile(length) {
			u, fastest := parse(t, path), time.Hour
			for range 50 {
				start := time.Now()
				_, _ = Read(u)
				fastest = min(fastest, time.Since(start))
			}
			p, err := Read(u)
			t.Logf("%v, %d bytes, %d readings, %v: %.20s", fastest, length, len(p.Readings()), err, path)
			if fastest > most {
				t.Errorf("%.40s... of %d bytes takes %v, want at most %v", path, length, fastest, most)
			}
			if n := len(p.Readings()); n > Most {
				t.Errorf("%.40s... of %d bytes has %d readings, want at most %d", path, length, n, Most)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	paths := map[string]string{
		"plain": "/v1/users/12345/posts", "accent": "/caf%C3%A9/a%20b", "scope": "/@scope%2fname", "semicolon": "/users;a=1/posts",
	}
	for _, path := range hostile(8192) {
		paths["hostile"+path[:12]] = path
	}
	for _, path := range hostile(maxLength) {
		paths["hostile4"+path[:12]] = path
	}
	for name, path := range paths {
		u := parse(b, path)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Read(u)
			}
		})
	}
}
