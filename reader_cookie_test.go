package fleetlimit

import (
	"strings"
	"testing"
)

func TestReadCookie(t *testing.T) {
	many := strings.Repeat("a=1; ", maxParameters-1)
	for _, tc := range []struct {
		lines []string
		want  string
		has   presence
	}{
		{nil, "", missing},
		{[]string{"sid=a"}, "a", present},
		{[]string{"x=1; sid=a; y=2"}, "a", present},
		{[]string{"x=1", "sid=a"}, "a", present},
		{[]string{"SID=a"}, "a", present},
		{[]string{` sid = "a" ;`}, "a", present},
		{[]string{"sid=%61"}, "a", present},
		{[]string{"sid=s%3Aa.b%2Bc"}, "s:a.b+c", present},
		{[]string{"sid=100%"}, "100%", present},
		{[]string{"sid=a=b"}, "a=b", present},
		{[]string{"sid=a b"}, "a b", present},
		{[]string{"sid=a,b"}, "a,b", present},
		{[]string{"sid="}, "", missing},
		{[]string{`sid=""`}, "", missing},
		{[]string{"sid=%20"}, "", missing},
		{[]string{"sids=a; asid=b; x=sid"}, "", missing},
		{[]string{`x="1; y=2"; sids=a`}, "", missing},
		{[]string{"sid=a; sid=b"}, "", ambiguousCookie},
		{[]string{"sid=a", "sid=a"}, "", ambiguousCookie},
		{[]string{"sid=a; SID=b"}, "", ambiguousCookie},
		{[]string{"sid=a; sid"}, "", ambiguousCookie},
		{[]string{"sid=a; %73id=b"}, "", ambiguousCookie},
		{[]string{"%73id=b"}, "", ambiguousCookie},
		{[]string{`"sid"=b`}, "", ambiguousCookie},
		{[]string{"sid[]=b"}, "", ambiguousCookie},
		{[]string{"x=1, sid=a"}, "", ambiguousCookie},
		{[]string{"x=1,sid=a"}, "", ambiguousCookie},
		{[]string{"x=1 sid=a"}, "", ambiguousCookie},
		{[]string{"sid=a, sid=b"}, "", ambiguousCookie},
		{[]string{"sid=a\tb"}, "", ambiguousCookie},
		{[]string{"sid=\xff"}, "", ambiguousCookie},
		{[]string{`sid=a\b`}, "", ambiguousCookie},
		{[]string{`sid="a`}, "", ambiguousCookie},
		{[]string{`x="1; sid=a; y=2"`}, "", ambiguousCookie},
		{[]string{many + "sid=a"}, "a", present},
		{[]string{many + "a=1; sid=a"}, "", ambiguousCookie},
		{[]string{many, many}, "", missing},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.Header["Cookie"] = tc.lines
		if got, has := readCookie("sid")(r, repl); got != tc.want || has != tc.has {
			t.Errorf("sid of %.60q: %q, presence %v; want %q, %v", tc.lines, got, has, tc.want, tc.has)
		}
	}
}
