package pathreading

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		path string
		want []string // the readings, in any order
	}{
		// Ordinary paths have one reading.
		{"/", []string{"/"}},
		{"/Users/12/Posts/", []string{"/users/12/posts/"}},
		{"/a%20b/caf%C3%A9", []string{"/a b/café"}},
		{"/%41%2E%2e.b", []string{"/a...b"}},
		{"/.well-known/x..y/...", []string{"/.well-known/x..y/..."}},
		{"/100%25", []string{"/100%"}},
		{"/a%252fb", []string{"/a%2fb"}}, // decoded twice, it has two segments, and needs no cleaning
		{"*", []string{"*"}},
		{"/a=b&c,d:@!$'()+~", []string{"/a=b&c,d:@!$'()+~"}},

		{"/@scope%2fName", []string{"/@scope/name", "/@scope%2fname"}},
		{"/projects/a%2Fb/x", []string{"/projects/a/b/x", "/projects/a%2fb/x"}},
		{"/login;a=1", []string{"/login", "/login;a=1"}},
		{"/a;x/b;y", []string{"/a/b", "/a;x/b;y", "/a"}},
		{"/login%3ba", []string{"/login", "/login;a"}},
		{"/bucket//key", []string{"/bucket/key", "/bucket//key"}},
		{"//x/login", []string{"/login", "//x/login", "/x/login"}},
		{"///x", []string{"/", "/x", "///x"}},
		{"/%2flogin", []string{"/login", "//login", "/%2flogin"}},
		{"/;a/login", []string{"/login", "//login", "/;a/login", "/"}},

		// Some servers end the path at the semicolon or question mark.
		{"/login;/x", []string{"/login", "/login/x", "/login;/x"}},
		{"/login;a/b?q", []string{"/login", "/login/b", "/login;a/b"}},
		{"/login%3fx/y", []string{"/login", "/login?x/y"}},
		{"/a%3Fb%3fc;d", []string{"/a", "/a?b?c;d", "/a?b?c"}},
		{"/login%3bx/y", []string{"/login/y", "/login;x/y"}}, // no server ends the path at an encoded semicolon

		// Front controllers ignore their own name in a path.
		{"/index.phplogin", []string{"/index.phplogin", "/login"}},
		{"/Index.PHP/Login", []string{"/index.php/login", "/login"}},
		{"/%69ndex%2ephplogin", []string{"/index.phplogin", "/login"}},
		{"/app_dev.php", []string{"/app_dev.php", "/"}},
		{"/shop/app.php/login", []string{"/shop/app.php/login", "/shop/login"}},
		{"/index.php", []string{"/index.php", "/"}},
		{"/login/index.php/", []string{"/login/index.php/", "/login/"}},
		{"/wp-login.php", []string{"/wp-login.php"}},
		{"/a.php", []string{"/a.php"}},
		{"/index.php%2flogin", []string{"/index.php/login", "/index.php%2flogin", "//login", "/login", "/%2flogin"}},

		{"/index.php%2f%2fa", []string{
			"/index.php//a", "/index.php/a", "/index.php%2f%2fa", "///a", "//a", "/a", "/%2f%2fa",
		}},

		// Where a parameter ends depends on what a server decodes before it cuts.
		{"/login;%2fx", []string{"/login", "/login/x", "/login;/x", "/login;%2fx"}},
		{"/;%2fx/login", []string{"/login", "//login", "//x/login", "/x/login", "/;/x/login", "/;%2fx/login", "/"}},
		{"/%6cogin;a%2fb", []string{"/login", "/login/b", "/login;a/b", "/login;a%2fb"}},
		{"//h/a%2fb;c", []string{
			"//h/a/b;c", "/h/a/b;c", "/a/b;c", "//h/a%2fb;c", "/h/a%2fb;c", "/a%2fb;c",
			"//h/a/b", "/h/a/b", "/a/b", "//h/a%2fb", "/h/a%2fb", "/a%2fb",
		}},
	} {
		u := parse(t, tc.path)
		p, err := Read(u)
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		var got []string
		for i := range p.Readings() {
			got = append(got, p.Readings()[i].Path())
		}
		if first := strings.ToLower(u.Path); got[0] != first {
			t.Errorf("first reading of %s = %s, want Caddy's, %s", tc.path, got[0], first)
		}
		slices.Sort(got)
		if slices.Sort(tc.want); !slices.Equal(got, tc.want) {
			t.Errorf("readings of %s = %q, want %q", tc.path, got, tc.want)
		}
	}
}

func TestNoPathIsSlash(t *testing.T) {
	p, err := Read(parse(t, "http://a.example"))
	if got := p.Readings()[0].Path(); got != "/" || err != nil {
		t.Errorf("reading of no path = %q, %v, want /", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for path, want := range map[string]error{
		"/a/../b": errDotSegment, "/./a": errDotSegment, "/a/..": errDotSegment, "/a/.": errDotSegment, "/..": errDotSegment,
		"/%2e%2e/a": errDotSegment, "/.%2E/a": errDotSegment, "/a/%2e": errDotSegment, "/a/..;/b": errDotSegment, "/a/.;x": errDotSegment,
		"/a/..%3bx/b": errDotSegment, "/a/..%2fb": errDotSegment, "/a%2f..%2fb": errDotSegment, "/export/..%2fpublic%2f1": errDotSegment,
		"/api//../login": errDotSegment, "/a/%252e%252e/b": errDotSegment, "/a/..%252fb": errDotSegment, "/a/..%253b/b": errDotSegment,
		"/a/.%252e": errDotSegment, `/a\b`: errBackslash, "/a%5cb": errBackslash, "/a%5C..%5cb": errBackslash, "/a%255cb": errBackslash,
		"/a%00": errControl, "/a%0ab": errControl, "/a%7F": errControl, "/a%2500b": errControl, "/%01": errControl,
		"/index.php../a": errDotSegment, "/index.php.%2fa": errDotSegment, "/a/..%3fb": errDotSegment,
		"//h/a%2fb;c//d":                           errTooMany,
		"//a%2fb;" + strings.Repeat("c", 3900):     errTooMany,
		"/" + strings.Repeat(";", maxParts+1):      errTooMany,
		"/;" + strings.Repeat("a", maxLength):      errTooLong,
		"//" + strings.Repeat("%C3%A9", maxLength): errTooLong,
	} {
		p, err := Read(parse(t, path))
		if !errors.Is(err, want) || !strings.Contains(want.Error(), ": use ") {
			t.Errorf("%.40s: %v, want %v", path, err, want)
		}
		if n := len(p.Readings()); n > Most {
			t.Errorf("%.40s has %d readings, want at most %d", path, n, Most)
		}
	}
}

// A rewritten request may have no RawPath, or the RawPath of its earlier path.
func TestReadIgnoresStaleRawPath(t *testing.T) {
	p, err := Read(&url.URL{Path: "/new", RawPath: "/a%2fb"})
	if err != nil || len(p.Readings()) != 1 || p.Readings()[0].Path() != "/new" {
		t.Errorf("readings = %+v, %v, want /new", p.Readings(), err)
	}
	p, err = Read(&url.URL{Path: "/a;b", RawPath: "/a%2fb"})
	if err != nil || len(p.Readings()) != 2 {
		t.Errorf("readings = %+v, %v, want two", p.Readings(), err)
	}
	if p, err = Read(&url.URL{Path: "//a%2fb"}); err != nil || p.Readings()[0].Path() != "//a%2fb" {
		t.Errorf("readings = %+v, %v, want //a%%2fb first", p.Readings(), err)
	}
}

func TestPut(t *testing.T) {
	for path, want := range map[string][]string{ // each reading as Path and as clients send it
		"/A%2fB;c": {"/A/B /A%2FB", "/A/B;c /A%2FB;c", "/A%2fB /A%252fB", "/A%2fB;c /A%252fB;c"},
		"//x/a%20": {"//x/a  //x/a%20", "/x/a  /x/a%20", "/a  /a%20"},
	} {
		p, err := Read(parse(t, path))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range p.Readings() {
			u := parse(t, path)
			p.Put(&p.Readings()[i], u)
			got = append(got, u.Path+" "+u.EscapedPath())
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("readings of %s = %q, want %q", path, got, want)
		}
	}
}

func TestEscaped(t *testing.T) {
	p, err := Read(parse(t, "/A%2fb;c"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Readings() {
		got = append(got, p.Readings()[i].Escaped())
	}
	slices.Sort(got)
	if want := []string{"/a%2fb", "/a%2fb;c"}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("escaped readings = %q, want %q", got, want)
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	for _, path := range []string{"/v1/users/12/posts", "/caf%C3%A9/a%20b", "/caf%c3%a9", "/%61%2e"} {
		u := parse(t, path)
		if got := testing.AllocsPerRun(100, func() { _, _ = Read(u) }); got != 0 {
			t.Errorf("allocations of %s = %v, want 0", path, got)
		}
	}
}
