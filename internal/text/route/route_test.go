package route

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		methods, path string // methods are separated by commas
		method, uri   string
		want          bool
	}{
		{"", "/search", "GET", "/search", true},
		{"", "/search", "PURGE", "/search?q=1", true},
		{"", "/search", "GET", "/search/", true},
		{"", "/search", "GET", "/search///", true},
		{"", "/search", "GET", "/search;a", true},
		{"", "/search", "GET", "/search;", true},
		{"", "/search", "GET", "/search;a=1;b=2/", true},
		{"", "/search", "GET", "/search%3Ba", true},
		{"", "/search", "GET", "/search/;a", true},
		{"", "/search", "GET", "/;a/search", true},
		{"", "/search", "GET", "/search%2F", true},
		{"", "/search", "GET", "/search/a", false},
		{"", "/search", "GET", "/search;/a", true},
		{"", "/search", "GET", "/", false},
		{"", "/search/", "GET", "/search", true},
		{"", "/search/", "GET", "/search/", true},
		{"", "/search/", "GET", "/search/;a", true},
		{"", "/search/", "GET", "/search/a", false},
		{"", "/search/*", "GET", "/search/a/", true},
		{"", "/search/*", "GET", "/search/", true},
		{"", "/search/*", "GET", "/search;a/b", true},
		{"", "/search/*", "GET", "/search", false},
		{"", "/search*", "GET", "/search/", true},
		{"", "/search;a", "GET", "/search;a", true},
		{"", "/search;a", "GET", "/search", false},
		{"", "/users/*/posts", "GET", "/users/7;a/posts/", true},
		{"", "/users/*/posts/", "GET", "/users/7/posts", true},
		{"", "*.json", "GET", "/a.json/", true},
		{"", "*.json", "GET", "/a.json;b", true},
		{"", "*.json", "GET", "/a.json/b", false},
		{"", "*/", "GET", "/a/", true},
		{"", "*/", "GET", "/a", false},
		{"", "/", "GET", "/", true},
		{"", "/", "GET", "/;a", true},
		{"", "/", "GET", "/a", false},
		{"", "/a%2fb", "GET", "/a%2Fb/", true},
		{"", "/a%2fb", "GET", "/a%2Fb;c", true},
		{"", "/search", "GET", "/searching", false},
		{"", "/search", "GET", "/SEARCH", true},
		{"", "/Search", "GET", "/search", true},
		{"", "/search", "GET", "//search", true},
		{"", "/search", "GET", "//x/search", true},
		{"", "/search", "GET", "/search;%2fx", true},
		{"", "/search", "GET", "/;%2fx/search", true},
		{"", "/search", "GET", "/%73earch;a%2fb", true},
		{"", "/users/*/export", "GET", "/users/12%2fx/export", true},
		{"", "/login.php", "GET", "/login.php/x", true},
		{"", "/login.php", "GET", "/login.php/x/y", true},
		{"", "/login.php", "GET", "/login.PHP%2fx", true},
		{"", "/login.php", "GET", "/login.phpx", false},
		{"", "/login.php", "GET", "/x/login.php", false},
		{"", "*.php", "GET", "/a/login.php/x", true},
		{"", "*.php", "GET", "/a/login.phpx/x", false},
		{"", "/*/login.php", "GET", "/a/login.php/x/y", true},
		{"", "/a?/login.php", "GET", "/ab/login.php/x/y", true},
		{"", "/*/login.php", "GET", "/a/b/login.php/x", false},
		{"", "/v1.0", "GET", "/v1.0/users", false},
		{"", "/search", "GET", "/%73earch", true},
		{"", "/search*", "GET", "/search/a/b", true},
		{"", "/users/*/posts", "GET", "/users/7/posts", true},
		{"", "/users/*/posts", "GET", "/users/7/8/posts", false},
		{"", "*.json", "GET", "/a/b.JSON", true},
		{"", "*/admin/*", "GET", "/v1/admin/x", true},
		{"", "*", "GET", "/", true},
		{"", "/a%2fb", "GET", "/a%2Fb", true},
		{"", "/a%2fb", "GET", "/a/b", false},
		{"GET", "/search", "GET", "/search", true},
		{"GET", "/search", "HEAD", "/search", true},
		{"GET", "/search", "head", "/search", true},
		{"GET", "/search", "POST", "/search", false},
		{"HEAD", "/search", "GET", "/search", false},
		{"POST", "/login", "POST", "/login", true},
		{"POST", "/login", "post", "/login", true},
		{"post", "/login", "POST", "/login", true},
		{"POST", "/login", "GET", "/login", false},
		{"POST", "/login", "HEAD", "/login", false},
		{"PUT,GET", "/x", "PUT", "/x", true},
		{"PUT,GET", "/x", "HEAD", "/x", true},
		{"PUT,GET", "/x", "DELETE", "/x", false},
		{"VERSION-CONTROL", "/x", "VERSION-CONTROL", "/x", true},
	} {
		e, err := New(splitMethods(tc.methods), tc.path)
		if err != nil {
			t.Fatalf("New(%q, %q) = %v", tc.methods, tc.path, err)
		}
		u, err := url.ParseRequestURI(tc.uri)
		if err != nil {
			t.Fatal(err)
		}
		path, err := new(pathpattern.Path).Read(u, nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.uri, err)
		}
		if got := e.Match(tc.method, path) != 0; got != tc.want {
			t.Errorf("a reading of %s %s matches %q: %v, want %v", tc.method, tc.uri, e, got, tc.want)
		}
	}
}

func splitMethods(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func TestString(t *testing.T) {
	for _, tc := range []struct{ methods, path, want string }{
		{"", "/search/*", "/search/*"},
		{"POST,GET", "/Search/*", "GET,POST /search/*"},
		{"get,Get,HEAD", "*.json", "GET *.json"},
		{"HEAD", "/x", "HEAD /x"},
	} {
		e, err := New(splitMethods(tc.methods), tc.path)
		if err != nil {
			t.Fatalf("New(%q, %q) = %v", tc.methods, tc.path, err)
		}
		if got := e.String(); got != tc.want {
			t.Errorf("String of %q %q = %q, want %q", tc.methods, tc.path, got, tc.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		methods []string
		path    string
		want    string
	}{
		{nil, "", "use one such as /search"},
		{nil, "search", "use one such as /search"},
		{nil, "/users/{id}", "use *"},
		{nil, "/users/{http.vars.plan}", "use *"},
		{nil, "/a}", "use *"},
		{nil, "/a[", "close it"},
		{[]string{""}, "/a", "use methods such as GET"},
		{[]string{"GET", "*"}, "/a", "use none for all methods"},
		{[]string{"gets"}, "/a", "use GET"},
		{[]string{"GET POST"}, "/a", "use methods such as GET"},
		{[]string{"GET,POST"}, "/a", "use methods such as GET"},
	} {
		if _, err := New(tc.methods, tc.path); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%q, %q) = %v, want an error that says %q", tc.methods, tc.path, err, tc.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		wide, wideMethods, narrow, narrowMethods string
		want                                     bool
	}{
		{"/a", "", "/a", "GET", true}, {"/a", "GET", "/a", "", false}, {"/a", "GET", "/a", "HEAD", true},
		{"/a", "HEAD", "/a", "GET", false}, {"/a", "GET,POST", "/a", "post", true}, {"/a", "GET", "/a", "GET,POST", false},
		{"/a", "", "/A/", "", true}, {"/a/", "", "/a", "", true}, {"/api/*", "", "/api/users/", "PUT", true},
		{"/api/*", "", "/api", "", false}, {"/api/*", "", "/api/", "", false}, {"*/", "", "/a", "", false},
	} {
		wide, err := New(splitMethods(tc.wideMethods), tc.wide)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := New(splitMethods(tc.narrowMethods), tc.narrow)
		if err != nil {
			t.Fatal(err)
		}
		if got := wide.Covers(narrow); got != tc.want {
			t.Errorf("%s covers %s: %v, want %v", wide, narrow, got, tc.want)
		}
	}
}

func TestNewKeepsArguments(t *testing.T) {
	methods := []string{"post", "HEAD", "get"}
	if _, err := New(methods, "/a"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(methods, ","); got != "post,HEAD,get" {
		t.Errorf("methods of the configuration became %s", got)
	}
}
