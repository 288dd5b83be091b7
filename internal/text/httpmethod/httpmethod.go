// Package httpmethod recognizes misspelled methods of HTTP, and reads the method of a request.
package httpmethod

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// Of returns the method of a request in upper case, as a proxy sends it to the upstream. For a CONNECT
// that opens a WebSocket, that is GET, because Caddy sends a GET.
func Of(r *http.Request) string {
	if OpensWebSocket(r) {
		return http.MethodGet
	}
	return strings.ToUpper(r.Method)
}

// OpensWebSocket reports whether a request opens a WebSocket in HTTP/2 or HTTP/3 (RFC 8441 and
// 9220).
func OpensWebSocket(r *http.Request) bool {
	switch {
	case r.Method != http.MethodConnect:
		return false
	case r.ProtoMajor == 2:
		values := r.Header[":protocol"]
		return len(values) > 0 && values[0] == "websocket"
	}
	return r.ProtoMajor == 3 && r.Proto == "websocket"
}

// Check returns an error if method, in upper case, is certainly a mistake. It returns a warning for any
// other unknown method, because some programs have methods of their own.
func Check(method string) (warning string, err error) {
	switch {
	case slices.Contains(common, method), slices.Contains(others, method):
		return "", nil
	case slices.Contains(every, method):
		return "", fmt.Errorf("%s is not a method: use none for all methods", method)
	case method == "" || strings.Trim(method, letters) != "":
		return "", fmt.Errorf("%q is not a method: use methods such as GET or POST, or none for all", method)
	}
	if nearest := spelling.Nearest(method, common); nearest != "" {
		return "", fmt.Errorf("%s is not a method: use %s, or none for all methods", method, nearest)
	}
	return fmt.Sprintf("%s is no method that is registered for HTTP: use GET, POST or another that clients send", method), nil
}

// letters are the characters of the methods in use.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

// every has the words that other programs use for all methods.
var every = []string{"ANY", "ALL", "*"}

// common are the methods with which Check compares a misspelled method.
var common = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// others are the other methods that IANA registers, and methods of well-known programs: of caches,
// UPnP, Icecast, Vault, and Microsoft's remote desktops and WebDAV.
var others = strings.Fields(`
	ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF
	MKWORKSPACE MOVE ORDERPATCH PRI PROPFIND PROPPATCH QUERY REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE
	UPDATEREDIRECTREF VERSION-CONTROL
	PURGE BAN REFRESH NOTIFY SUBSCRIBE UNSUBSCRIBE M-SEARCH SOURCE LIST POLL TRACK
	RPC_IN_DATA RPC_OUT_DATA RDG_IN_DATA RDG_OUT_DATA BCOPY BDELETE BMOVE BPROPFIND BPROPPATCH X-MS-ENUMATTS
`)
