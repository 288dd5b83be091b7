package keytemplate

import (
	"net/url"
	"strings"
	"testing"
)

func TestQueryReader(t *testing.T) {
	many := strings.Repeat("a&", maxParameters-1)
	for _, tc := range []struct {
		query, want string
		has         Presence
	}{
		{"", "", Missing},
		{"key=a", "a", Present},
		{"a=1&key=a&b=2", "a", Present},
		{"&&key=a&", "a", Present},
		{"%6bey=a", "a", Present},
		{"key=%61", "a", Present},
		{"key=a=b", "a=b", Present},
		{"key=a+b", "a b", Present},
		{"key=+a%09", "a", Present},
		{"key=%2561", "%61", Present},
		{"key=\xff", "\xff", Present},
		{"key=", "", Missing},
		{"key", "", Missing},
		{"key=+%20", "", Missing},
		{"keys=a&ke=b&x[key]=c", "", Missing},
		{"x=1;y=2", "", Missing},
		{"x=1;y=2&key=a", "a", Present},
		{"key=a&key=b", "", Ambiguous},
		{"key=a&key=a", "", Ambiguous},
		{"key=a&key", "", Ambiguous},
		{"key=a&%6bey=b", "", Ambiguous},
		{";key=a", "", Ambiguous},
		{"key=a;", "", Ambiguous},
		{"x=1;key=a", "", Ambiguous},
		{"x=1;%6bey=a", "", Ambiguous},
		{"key=a&x;key=b", "", Ambiguous},
		{"key=%zz", "", Ambiguous},
		{"key=a%", "", Ambiguous},
		{"key%zz=a", "", Missing},
		{"%6be%79=a", "a", Present},
		{"key[]=a", "", Ambiguous},
		{"key[0]=a", "", Ambiguous},
		{"key%5B%5D=a", "", Ambiguous},
		{"key=a&key[]=b", "", Ambiguous},
		{"KEY=a", "", Ambiguous},
		{"key=a&Key=b", "", Ambiguous},
		{"+key=a", "", Ambiguous},
		{"%20key=a", "", Ambiguous},
		{"key%=a", "", Ambiguous},
		{"key+=a", "", Ambiguous},
		{"key%00=a", "", Ambiguous},
		{"key%00x=a", "", Ambiguous},
		{"[key]=a", "", Ambiguous},
		{"key=a&[key]x=b", "", Ambiguous},
		{"key]=b&key=a", "", Ambiguous},
		{"\u212aey=a", "", Ambiguous},
		{"=a&key=a&=&&", "a", Present},
		{"key=a#", "", Ambiguous},
		{"x#&key=a", "", Ambiguous},
		{"x=1#y", "", Missing},
		{"key=a b", "", Ambiguous},
		{many + "key=a", "a", Present},
		{many + "a&key=a", "", Ambiguous},
		{"key=a&" + many + "a", "", Ambiguous},
		{many + many, "", Missing},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.URL.RawQuery = tc.query
		if got, has := queryReader("key")(r, repl); got != tc.want || has != tc.has {
			t.Errorf("key of ?%.40q: %q, presence %v; want %q, %v", tc.query, got, has, tc.want, tc.has)
		}
	}
	for query, want := range map[string]Presence{
		"session_id=a": Present, "session.id=a": Ambiguous, "session+id=a": Ambiguous, "session[id=a": Ambiguous,
		"session-id=a": Ambiguous, "session_id=a&session[id=b": Ambiguous, "%5bsession.id%5d=b&session_id=a": Ambiguous,
		"sessionid=a": Missing, "session_id=a&sessionid=b&_session_id=c&userId=d&$filter=e&session_id2=f&\u0438\u043c\u044f=g": Present,
	} {
		r, repl := keyRequest("192.0.2.1")
		r.URL.RawQuery = query
		if _, has := queryReader("session_id")(r, repl); has != want {
			t.Errorf("session_id of ?%s: presence %v, want %v", query, has, want)
		}
	}
}

func TestPlainQuery(t *testing.T) {
	for _, tc := range []struct{ query, want string }{
		{"", ""},
		{"a=1&b=%2F+c", "a=1&b=%2F+c"},
		{"a;b=1", "a&b=1"},
		{"a=1&b=%", "a=1&b=%25"},
		{"%zz=%2f%4;", "%25zz=%2f%254&"},
		{"a=%%41", "a=%25%41"},
	} {
		got, differs := PlainQuery(tc.query)
		if got != tc.want || differs != (got != tc.query) {
			t.Errorf("plain query of %q = %q, %v, want %q", tc.query, got, differs, tc.want)
		}
		if _, err := url.ParseQuery(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
}

// A plain query has no mistake for Caddy's matcher, whether PlainQuery has changed it or not.
func FuzzPlainQuery(f *testing.F) {
	f.Add("a=1;b=%zz&%")
	f.Fuzz(func(t *testing.T, query string) {
		query, _ = PlainQuery(query)
		if _, err := url.ParseQuery(query); err != nil && len(query) < 10_000 { // net/url bounds the number of parameters
			t.Errorf("%q: %v", query, err)
		}
	})
}
