package fleetlimit

import (
	"strings"
	"testing"
)

func TestReadQuery(t *testing.T) {
	many := strings.Repeat("a&", maxParameters-1)
	for _, tc := range []struct {
		query, want string
		has         presence
	}{
		{"", "", missing},
		{"key=a", "a", present},
		{"a=1&key=a&b=2", "a", present},
		{"&&key=a&", "a", present},
		{"%6bey=a", "a", present},
		{"key=%61", "a", present},
		{"key=a=b", "a=b", present},
		{"key=a+b", "a b", present},
		{"key=+a%09", "a", present},
		{"key=%2561", "%61", present},
		{"key=\xff", "\xff", present},
		{"key=", "", missing},
		{"key", "", missing},
		{"key=+%20", "", missing},
		{"keys=a&ke=b&x[key]=c", "", missing},
		{"x=1;y=2", "", missing},
		{"x=1;y=2&key=a", "a", present},
		{"key=a&key=b", "", ambiguous},
		{"key=a&key=a", "", ambiguous},
		{"key=a&key", "", ambiguous},
		{"key=a&%6bey=b", "", ambiguous},
		{";key=a", "", ambiguous},
		{"key=a;", "", ambiguous},
		{"x=1;key=a", "", ambiguous},
		{"x=1;%6bey=a", "", ambiguous},
		{"key=a&x;key=b", "", ambiguous},
		{"key=%zz", "", ambiguous},
		{"key=a%", "", ambiguous},
		{"key%zz=a", "", missing},
		{"%6be%79=a", "a", present},
		{"key[]=a", "", ambiguous},
		{"key[0]=a", "", ambiguous},
		{"key%5B%5D=a", "", ambiguous},
		{"key=a&key[]=b", "", ambiguous},
		{"KEY=a", "", ambiguous},
		{"key=a&Key=b", "", ambiguous},
		{"+key=a", "", ambiguous},
		{"%20key=a", "", ambiguous},
		{"key%00=a", "", ambiguous},
		{"key%00x=a", "", ambiguous},
		{"key=a#", "", ambiguous},
		{"x#&key=a", "", ambiguous},
		{"x=1#y", "", missing},
		{"key=a b", "", ambiguous},
		{many + "key=a", "a", present},
		{many + "a&key=a", "", ambiguous},
		{"key=a&" + many + "a", "", ambiguous},
		{many + many, "", missing},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.URL.RawQuery = tc.query
		if got, has := readQuery("key")(r, repl); got != tc.want || has != tc.has {
			t.Errorf("key of ?%.40q: %q, presence %v; want %q, %v", tc.query, got, has, tc.want, tc.has)
		}
	}
	for query, want := range map[string]presence{
		"api_key=a": present, "api.key=a": ambiguous, "api+key=a": ambiguous, "api[key=a": missing, "api-key=a": missing,
	} {
		r, repl := keyRequest("192.0.2.1")
		r.URL.RawQuery = query
		if _, has := readQuery("api_key")(r, repl); has != want {
			t.Errorf("api_key of ?%s: presence %v, want %v", query, has, want)
		}
	}
}
