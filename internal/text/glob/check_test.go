package glob

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, pattern := range []string{
		"*", "a", "sk_internal_*", "sk_*_live", "192.0.2.*", "10.*", "2001:db8::/64", "*.example.com", "example.*", "api.*",
		"auth0|7", "auth0|*", `CORP\ann`, `CORP\d`, "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", `{"tenant":7,"user":8}`, "a+b/c==",
		"$2y$10$abc", "cn=ann,dc=example", "/api/*", "/tenants/", "[::1]:8080", "[2001:db8::1]:*", "a(b)", "Bearer *", "a^b", "key$",
		"eyJhbGciOi.eyJz.*", "user@example.com", "a,*", "sk-proj-*", "?*", "x..*", "a.+b",
	} {
		if err := Check(pattern); err != nil {
			t.Errorf("%q is refused: %v", pattern, err)
		}
	}
	for _, tc := range []struct{ pattern, remedy string }{
		{"{http.request.header.X-Api-Key}", "use the text itself"},
		{"x-{env.NAME}", "{$NAME}"},
		{"{$NAME}", "{$NAME}"},
		{"{$NAME:default}", "{$NAME}"},
		{"sk_{live,test}_*", "one pattern for each"},
		{"^bad.*$", "use * for any text"},
		{"^bad", "use * for any text"},
		{"/bad.*/", "use * for any text"},
		{"/^bad$/", "use * for any text"},
		{"sk_.*", "use * for any text"},
		{".*", "use * for any text"},
		{".+", "use * for any text"},
		{"bad.+", "use * for any text"},
		{"(a|b)", "one pattern for each"},
		{"sk_(live|test)_*", "one pattern for each"},
		{"(?i)bad", "use * for any text"},
		{`\d+`, "use * for any text"},
		{`sk_\w+`, "use * for any text"},
		{`a\.b`, "use * for any text"},
		{"[a-z]*", "use * for any text"},
		{"sk_[0-9]+", "use * for any text"},
		{"[^0-9]", "use * for any text"},
	} {
		if err := Check(tc.pattern); err == nil || !strings.Contains(err.Error(), tc.remedy) {
			t.Errorf("Check(%q) = %v, want an error with %q", tc.pattern, err, tc.remedy)
		}
	}
}

func TestWarning(t *testing.T) {
	for pattern, want := range map[string]string{
		"bad.*": "use * alone", "/bad/": "unless the key is a path", "10.*": "", "a*": "", "/": "", "/api/*": "", "//": "",
	} {
		if got := Warning(pattern); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("warning about %q = %q, want %q in it", pattern, got, want)
		}
	}
}
