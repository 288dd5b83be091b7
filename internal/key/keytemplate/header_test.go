package keytemplate

import (
	"net/http"
	"testing"
)

func TestHeaderReader(t *testing.T) {
	for _, tc := range []struct {
		name, field string
		header      http.Header
		want        string
		has         Presence
	}{
		{"once", "X-Api-Key", http.Header{"X-Api-Key": {"a"}}, "a", Present},
		{"spaces around it", "X-Api-Key", http.Header{"X-Api-Key": {" \ta\t "}}, "a", Present},
		{"absent", "X-Api-Key", http.Header{"X-Api": {"a"}, "X-Api-Keys": {"b"}}, "", Missing},
		{"spaces alone", "X-Api-Key", http.Header{"X-Api-Key": {" \t"}}, "", Missing},
		{"twice", "X-Api-Key", http.Header{"X-Api-Key": {"a", "b"}}, "", Ambiguous},
		{"twice, one empty", "X-Api-Key", http.Header{"X-Api-Key": {"a", ""}}, "", Ambiguous},
		{"a comma", "X-Api-Key", http.Header{"X-Api-Key": {"a, b"}}, "a, b", Present},
		{"another name", "X-Api-Key", http.Header{"X-Api-Kez": {"a"}}, "", Missing},
		{"named by Connection", "X-Api-Key", http.Header{"X-Api-Key": {"a"}, "Connection": {"close, x-api-key"}}, "", Ambiguous},
		{"named by a second Connection", "A", http.Header{"A": {"a"}, "Connection": {"close", "b,\tA ,c"}}, "", Ambiguous},
		{"Connection names others", "A", http.Header{"A": {"a"}, "Connection": {"keep-alive, AB"}}, "a", Present},
		{"Connection names what is not there", "A", http.Header{"Connection": {"A"}}, "", Missing},
		{"a header that Connection has to name", "Upgrade", http.Header{"Upgrade": {"h2c"}, "Connection": {"Upgrade"}}, "h2c", Present},
		{"list", "X-Forwarded-For", http.Header{"X-Forwarded-For": {" 192.0.2.1", "192.0.2.2,", "", "192.0.2.3 , 192.0.2.4"}},
			"192.0.2.1, 192.0.2.2, 192.0.2.3 , 192.0.2.4", Present},
		{"empty list", "Via", http.Header{"Via": {"", " ,"}}, "", Missing},
		{"list of one", "Forwarded", http.Header{"Forwarded": {"for=a"}}, "for=a", Present},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.Header = tc.header
		if got, has := headerReader(tc.field)(r, repl); got != tc.want || has != tc.has {
			t.Errorf("%s: %q, presence %v; want %q, %v", tc.name, got, has, tc.want, tc.has)
		}
	}
}

func TestHeaderAnnouncedAsTrailerIsAmbiguous(t *testing.T) {
	r, repl := keyRequest("192.0.2.1")
	r.Trailer = http.Header{"X-Api-Key": nil} // announced, but not read yet
	if got, has := headerReader("X-Api-Key")(r, repl); got != "" || has != Ambiguous {
		t.Errorf("header = %q, presence %v; want ambiguous", got, has)
	}
	if _, has := headerReader("X-Tenant")(r, repl); has != Missing {
		t.Errorf("another header: presence %v, want missing", has)
	}
}
