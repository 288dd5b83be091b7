package httpmethod

import (
	"net/http"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, method := range append(append([]string{}, common...), others...) {
		if warning, err := Check(method); warning != "" || err != nil {
			t.Errorf("%s is doubtful (%q) or refused: %v", method, warning, err)
		}
	}
	for _, method := range []string{"MYMETHOD", "FROBNICATE", "WEBSOCKET", "PULL", "CALL"} {
		if warning, err := Check(method); !strings.Contains(warning, method) || err != nil {
			t.Errorf("Check(%s) = %q, %v; want a warning", method, warning, err)
		}
	}
	for method, want := range map[string]string{
		"GETS": "use GET", "PSOT": "use POST", "FETCH": "use PATCH", "DEL": "use DELETE",
		"DELTE": "use DELETE", "OPTION": "use OPTIONS", "ANY": "use none", "ALL": "use none",
		"": "such as GET", "GET POST": "such as GET", "GET,POST": "such as GET", "*": "use none",
	} {
		if warning, err := Check(method); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %q, %v; want an error with %q", method, warning, err, want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		r    http.Request
		want string
	}{
		{http.Request{Method: "pOst"}, "POST"},
		{http.Request{Method: "CONNECT", Proto: "HTTP/1.1", ProtoMajor: 1, Header: http.Header{":protocol": {"websocket"}}}, "CONNECT"},
		{http.Request{Method: "CONNECT", Proto: "HTTP/2.0", ProtoMajor: 2}, "CONNECT"},
		{http.Request{Method: "CONNECT", Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{":protocol": {"websocket"}}}, "GET"},
		{http.Request{Method: "CONNECT", Proto: "HTTP/3.0", ProtoMajor: 3}, "CONNECT"},
		{http.Request{Method: "CONNECT", Proto: "connect-udp", ProtoMajor: 3}, "CONNECT"},
		{http.Request{Method: "CONNECT", Proto: "websocket", ProtoMajor: 3}, "GET"},
		{http.Request{Method: "POST", Proto: "websocket", ProtoMajor: 3}, "POST"},
	} {
		if got := Of(&tc.r); got != tc.want {
			t.Errorf("Of(%s %s, %v) = %q, want %q", tc.r.Method, tc.r.Proto, tc.r.Header, got, tc.want)
		}
	}
}
