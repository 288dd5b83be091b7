package pathreading

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// servers are the ways in which upstreams turn an escaped path into the path by which they route. ok is
// false if an upstream refuses the path.
var servers = map[string]func(escaped string) (path string, ok bool){
	"decode": decoded,
	"decode, merge": func(p string) (string, bool) {
		p, ok := decoded(p)
		return merged(p), ok
	},
	"decode, cut": func(p string) (string, bool) {
		p, ok := decoded(p)
		return withoutParameters(p), ok
	},
	"decode, cut, merge": func(p string) (string, bool) {
		p, ok := decoded(p)
		return merged(withoutParameters(p)), ok
	},
	"cut, decode":        func(p string) (string, bool) { return decoded(withoutParameters(p)) },
	"cut, decode, merge": func(p string) (string, bool) { p, ok := decoded(withoutParameters(p)); return merged(p), ok },
	"keep slashes":       func(p string) (string, bool) { return decodedButSlashes(p) },
	"cut, keep slashes":  func(p string) (string, bool) { return decodedButSlashes(withoutParameters(p)) },
	"cut, merge, keep slashes": func(p string) (string, bool) {
		return decodedButSlashes(merged(withoutParameters(p)))
	},
	"keep slashes, cut": func(p string) (string, bool) {
		p, ok := decodedButSlashes(p)
		return withoutParameters(p), ok
	},
	"end at a semicolon, decode": func(p string) (string, bool) {
		p, _, _ = strings.Cut(p, ";")
		return decoded(p)
	},
	"end at a semicolon, keep slashes": func(p string) (string, bool) {
		p, _, _ = strings.Cut(p, ";")
		return decodedButSlashes(p)
	},
	"decode, end at a question mark": func(p string) (string, bool) {
		p, ok := decoded(p)
		p, _, _ = strings.Cut(p, "?")
		return p, ok
	},
	"keep slashes, end at a question mark": func(p string) (string, bool) {
		p, ok := decodedButSlashes(p)
		p, _, _ = strings.Cut(p, "?")
		return p, ok
	},
	"front controller": func(p string) (string, bool) {
		p, ok := decoded(p)
		if rest, is := strings.CutPrefix(p, "/index.php"); is {
			p = "/" + strings.TrimPrefix(rest, "/")
		}
		return p, ok
	},
	"authority":               func(p string) (string, bool) { return decoded(afterAuthority(p)) },
	"authority, keep slashes": func(p string) (string, bool) { return decodedButSlashes(afterAuthority(p)) },
	"authority, cut":          func(p string) (string, bool) { return decoded(withoutParameters(afterAuthority(p))) },
	"authority, merge":        func(p string) (string, bool) { p, ok := decoded(afterAuthority(p)); return merged(p), ok },
}

func decoded(p string) (string, bool) {
	p, err := url.PathUnescape(p)
	return p, err == nil
}

func decodedButSlashes(p string) (string, bool) {
	return decoded(strings.NewReplacer("%2f", "%252f", "%2F", "%252f").Replace(p))
}

func withoutParameters(p string) string {
	segments := strings.Split(p, "/")
	for i := range segments {
		segments[i], _, _ = strings.Cut(segments[i], ";")
	}
	return strings.Join(segments, "/")
}

func merged(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	return p
}

func afterAuthority(p string) string {
	if !strings.HasPrefix(p, "//") {
		return p
	}
	_, rest, _ := strings.Cut(strings.TrimLeft(p, "/"), "/")
	return "/" + rest
}

// FuzzReadings looks for a path that a server reads in a way that is not among its readings.
func FuzzReadings(f *testing.F) {
	for _, path := range []string{
		"/login;%2fx", "//x/login", "/a%2fb%3bc;d//e", "/@scope%2fname", "/%2f/;a%2fb/", "//h%2fx/a;b", "/a/..;/b", "///;/%2F%3B",
		"/login;a/b", "/login%3fx/y", "/a;b%3Fc/%2f", "/index.phplogin", "/index.php%2flogin", "/index.php//a", "/index.php;x/a",
		"/index.php%2f%2fl",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return
		}
		p, err := Read(u)
		if err != nil {
			return
		}
		readings := pathsOf(&p)
		if len(readings) == 0 || len(readings) > Most {
			t.Fatalf("%q has %d readings, want 1 to %d", path, len(readings), Most)
		}
		for name, read := range servers {
			if want, ok := read(u.EscapedPath()); ok && !slices.Contains(readings, strings.ToLower(want)) {
				t.Errorf("a server (%s) reads %q as %q, which is none of its readings %q", name, path, want, readings)
			}
		}
		for _, r := range readings {
			for segment := range strings.SplitSeq(r, "/") {
				if segment = segment[:strings.IndexAny(segment+";", ";?")]; segment == "." || segment == ".." {
					t.Errorf("%q has the reading %q, which needs cleaning", path, r)
				}
			}
		}
	})
}

func pathsOf(p *Path) (paths []string) {
	for i := range p.Readings() {
		paths = append(paths, p.Readings()[i].Path())
	}
	return paths
}
