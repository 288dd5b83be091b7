package adminapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestIfMatch(t *testing.T) {
	for _, tc := range []struct {
		lines  []string
		want   int64 // -1 for any version
		found  bool
		status int
	}{
		{nil, -1, false, 200},
		{[]string{"*"}, -1, true, 200},
		{[]string{`"12"`}, 12, true, 200},
		{[]string{` "0" `}, 0, true, 200},
		{[]string{`W/"12"`}, -1, true, 412},
		{[]string{`12`}, -1, true, 412},
		{[]string{`"012"`}, -1, true, 412},
		{[]string{`""`}, -1, true, 412},
		{[]string{`"1", "2"`}, -1, true, 400},
		{[]string{`"1"`, `"2"`}, -1, true, 400},
	} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header["If-Match"] = tc.lines
		version, found, err := ifMatch(r)
		got := int64(-1)
		if version != nil {
			got = *version
		}
		if got != tc.want || found != tc.found || statusOf(t, err) != tc.status {
			t.Errorf("%q = %d, %t, %v, want %d, %t and status %d", tc.lines, got, found, err, tc.want, tc.found, tc.status)
		}
	}
}
