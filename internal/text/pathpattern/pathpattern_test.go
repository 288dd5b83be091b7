package pathpattern

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, pattern := range []string{
		"/", "*", "/search", "/Search/", "/search*", "/users/*", "/users/*/posts", "/users/*/posts/*", "*.json", "*/admin/*",
		"/v?/users", "/v??/users", "/img-?.png", "/[a-z]/x", "/[^a]/x", "/items/[0-9]", "/.well-known/*", "/.git*", "*/.*",
		"/.*", "/index.*", "/a.*b", "/$metadata", "/Users/$count", "/odata/Products(1)", "/odata/Products(*)/x", "/a+b",
		"/v1/models:predict", "/v1/*:search", "/a%20b", "/a b", "/a%2fb", "/a%*", "/search;a", "/a,b", "/~user", "/@me",
		"/a=b&c", "/api//x", `/a\.b`, `/a\*b`, "/a..b", "/...", "/a.", "/café",
	} {
		if err := Check(pattern); err != nil {
			t.Errorf("%q is refused: %v", pattern, err)
		}
	}
	for _, tc := range []struct{ pattern, remedy string }{
		{"", "use one such as /search"},
		{"search", "use one such as /search"},
		{"https://example.com/a?b", "use /a?b, and `host`"},
		{"https://example.com", "use /, and `host`"},
		{"^/api/.*$", "use a path with *"},
		{"~^/api", "use a path with *"},
		{"/api/.*", "use a path with *"},
		{"/api/.*$", "use a path with *"},
		{"/api/(.*)", "use a path with *"},
		{"/api/(a|b)", "use a path with *"},
		{"/a|/b", "one `endpoint` for each"},
		{"/api/.+", "use a path with *"},
		{"/api/[0-9]+", "use a path with *"},
		{"/api/[0-9]{2}", "use a path with *"},
		{`/api/\d+`, "use a path with *"},
		{"/api$", "use a path with *"},
		{"/(?i)api", "use a path with *"},
		{"/users/{id}", "use * for the parts"},
		{"/users/{http.vars.id}", "use * for the parts"},
		{"/a}", "use * for the parts"},
		{"/users/<id>", "use * for the parts"},
		{"/users/<int:id>/x", "use * for the parts"},
		{"/users/:id", "use * for the parts"},
		{"/users/:id/posts", "use * for the parts"},
		{"/users/[id]", "use * for the parts"},
		{"/docs/[...slug]", "use * for the parts"},
		{"/page#top", "or /page"},
		{"/search?q=1", "or /search"},
		{"/search?q=*", "or /search"},
		{"/search?*", "or /search"},
		{"/search?", "or /search"},
		{"/v?/a?b", "or /v?/a"},
		{"/api/**", "use /api/*"},
		{"/api/**/x", "use /api/*/x"},
		{"/api/**/*", "use /api/*"},
		{"**/x", "use */x"},
		{"/api/../x", "use it without"},
		{"/api/./x", "use it without"},
		{"/api/..", "use it without"},
		{"/a,/b", "one `endpoint` for each"},
		{"/users/%s", "use %25"},
		{"/a%2", "use %25"},
		{"/a%", "use %25"},
		{"/v?/*", "use *"},
		{"/items/[0-9]*", "use *"},
		{`/a\.b*`, "use *"},
		{"/a[", `use "]"`},
		{`/a\`, `use "]"`},
	} {
		if err := Check(tc.pattern); err == nil || !strings.Contains(err.Error(), tc.remedy) {
			t.Errorf("Check(%q) = %v, want an error with %q", tc.pattern, err, tc.remedy)
		}
	}
}

func TestWarning(t *testing.T) {
	for pattern, want := range map[string]bool{"/.*": true, "/api//x": true, "*/.*": false, "/.git*": false, "/a": false} {
		if got := Warning(pattern); (got != "") != want {
			t.Errorf("warning about %q = %q, want one: %v", pattern, got, want)
		}
	}
}
