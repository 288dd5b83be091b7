package keytemplate

import (
	"strings"
	"testing"
)

func TestCookieReader(t *testing.T) {
	many := strings.Repeat("a=1; ", maxParameters-1)
	for _, tc := range []struct {
		lines []string
		want  string
		has   Presence
	}{
		{nil, "", Missing},
		{[]string{"sid=a"}, "a", Present},
		{[]string{"x=1; sid=a; y=2"}, "a", Present},
		{[]string{"x=1", "sid=a"}, "a", Present},
		{[]string{"SID=a"}, "a", Present},
		{[]string{` sid = "a" ;`}, "a", Present},
		{[]string{"sid=%61"}, "a", Present},
		{[]string{"sid=s%3Aa.b%2Bc"}, "s:a.b+c", Present},
		{[]string{"sid=100%"}, "100%", Present},
		{[]string{"sid=a=b"}, "a=b", Present},
		{[]string{"sid=a%20b"}, "a+b", Present},
		{[]string{"sid=a%2Bb"}, "a+b", Present},
		{[]string{"sid=a+b"}, "a+b", Present},
		{[]string{"sid=a%2Cb"}, "a,b", Present},
		{[]string{"sid=a-b_c.d~e:f/g@h|i(j)k{l}m!n#o$p*q^r'"}, "a-b_c.d~e:f/g@h|i(j)k{l}m!n#o$p*q^r'", Present},
		{[]string{"sid="}, "", Missing},
		{[]string{`sid=""`}, "", Missing},
		{[]string{"sid=%20"}, "", Missing},
		{[]string{"sids=a; asid=b; x=sid"}, "", Missing},
		{[]string{`x="1; y=2"; sids=a`}, "", Missing},
		{[]string{"sid=a; sid=b"}, "", AmbiguousCookie},
		{[]string{"sid=a", "sid=a"}, "", AmbiguousCookie},
		{[]string{"sid=a; SID=b"}, "", AmbiguousCookie},
		{[]string{"sid=a; sid"}, "", AmbiguousCookie},
		{[]string{"sid=a; %73id=b"}, "", AmbiguousCookie},
		{[]string{"%73id=b"}, "", AmbiguousCookie},
		{[]string{`"sid"=b`}, "", AmbiguousCookie},
		{[]string{"sid[]=b"}, "", AmbiguousCookie},
		{[]string{"sid=a; [sid]x=b"}, "", AmbiguousCookie},
		{[]string{"sid=a; sid\xa0=b"}, "", AmbiguousCookie},
		{[]string{"\x85sid=b; sid=a"}, "", AmbiguousCookie},
		{[]string{"sid=a; sid%00x=b"}, "", AmbiguousCookie},
		{[]string{"x=1, sid]=a"}, "", AmbiguousCookie},
		{[]string{"sid=a; x=1\t\xa0sid=b"}, "", AmbiguousCookie},
		{[]string{"sid=a; x sid=b"}, "", AmbiguousCookie},
		{[]string{"sid=a; x=the sid, or sid"}, "a", Present},
		{[]string{"sid=a; _sid=b; sid2=c; sid_=d; =e; ; sid.x=f"}, "a", Present},
		{[]string{"x=1, sid=a"}, "", AmbiguousCookie},
		{[]string{"x=1,sid=a"}, "", AmbiguousCookie},
		{[]string{"x=1 sid=a"}, "", AmbiguousCookie},
		{[]string{"sid=a, sid=b"}, "", AmbiguousCookie},
		{[]string{"sid=a b"}, "", AmbiguousCookie},
		{[]string{"sid=a,"}, "", AmbiguousCookie},
		{[]string{"sid=a[b]"}, "", AmbiguousCookie},
		{[]string{"sid=a&b"}, "", AmbiguousCookie},
		{[]string{"sid=a%00b"}, "", AmbiguousCookie},
		{[]string{"sid=a%C2%A0"}, "", AmbiguousCookie},
		{[]string{"x=1[sid=a"}, "", AmbiguousCookie},
		{[]string{"sid=b; x\"sid =a"}, "", AmbiguousCookie},
		{[]string{"sid=a; x[sid]=b; x=y=sid=c"}, "a", Present},
		{[]string{"sid=a\tb"}, "", AmbiguousCookie},
		{[]string{"sid=\xff"}, "", AmbiguousCookie},
		{[]string{`sid=a\b`}, "", AmbiguousCookie},
		{[]string{`sid="a`}, "", AmbiguousCookie},
		{[]string{`x="1; sid=a; y=2"`}, "", AmbiguousCookie},
		{[]string{many + "sid=a"}, "a", Present},
		{[]string{many + "a=1; sid=a"}, "", AmbiguousCookie},
		{[]string{many, many}, "", Missing},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.Header["Cookie"] = tc.lines
		if got, has := cookieReader("sid")(r, repl); got != tc.want || has != tc.has {
			t.Errorf("sid of %.60q: %q, presence %v; want %q, %v", tc.lines, got, has, tc.want, tc.has)
		}
	}
	for cookies, want := range map[string]Presence{
		"a%5Bb=1": Present, "a[b=1": AmbiguousCookie, "a_b=1": AmbiguousCookie, "a=1; b=2": Missing, "a%5Bb=1; a%5bb=2": AmbiguousCookie,
	} {
		r, repl := keyRequest("192.0.2.1")
		r.Header["Cookie"] = []string{cookies}
		if _, has := cookieReader("a%5Bb")(r, repl); has != want {
			t.Errorf("a%%5Bb of %s: presence %v, want %v", cookies, has, want)
		}
	}
}
