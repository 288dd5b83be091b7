package pathreading

import (
	"net/url"
	"strings"
	"testing"
)

// hostile returns paths of at most this length in bytes that take the most time to read.
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

// The number of readings of a path is bounded, and the sum of their lengths, because zones compare all
// of them.
func TestReadingsAreBounded(t *testing.T) {
	most := 0
	for _, length := range []int{1024, 3000, maxLength, 8192} {
		for _, path := range hostile(length) {
			p, err := Read(parse(t, path))
			n, size := len(p.Readings()), 0
			for i := range p.Readings() {
				size += len(p.Readings()[i].Path())
			}
			if most = max(most, n); n > Most || n > 1 && size > 4*maxLength || err != nil && n > 1 {
				t.Errorf("%.40s... of %d bytes has %d readings of %d bytes, %v, want at most %d of %d", path, length, n, size, err,
					Most, 4*maxLength)
			}
		}
	}
	if most < 4 {
		t.Errorf("a path has %d readings at most, want 4 or more: none of the paths is hostile", most)
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
