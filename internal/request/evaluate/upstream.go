package evaluate

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

const maxInt64 = math.MaxInt64

// The placeholders that reverse_proxy sets: the first when it has chosen an upstream, the others when that
// upstream has answered.
const (
	upstreamChosen   = "http.reverse_proxy.upstream.fails"
	upstreamAnswered = "http.reverse_proxy.status_text"
	upstreamCode     = "http.reverse_proxy.status_code"
)

// notYet is the value that forgetUpstream gives to placeholders, until reverse_proxy sets them. Before,
// reverse_proxy may have set them for another request, such as that of forward_auth.
type notYet struct{}

// forgetUpstream notes that the request has not gone upstream yet.
func forgetUpstream(repl *caddy.Replacer) {
	repl.Set(upstreamChosen, notYet{})
	repl.Set(upstreamAnswered, notYet{})
}

// upstreamStatus returns whether the request may have gone to an upstream since forgetUpstream, and the
// status of its answer. The status is 0 if the upstream has not answered.
func upstreamStatus(repl *caddy.Replacer) (sent bool, status int) {
	set := func(name string) bool {
		value, _ := repl.Get(name)
		return value != notYet{}
	}
	if sent = set(upstreamChosen); sent && set(upstreamAnswered) {
		value, _ := repl.Get(upstreamCode)
		status, _ = value.(int)
	}
	return sent, status
}

// isCopied reports whether the response that starts with these headers is that of an upstream, and not of a
// handler such as `respond`, even if an upstream was asked before. reverse_proxy adds itself to Via, and
// removes the Server that Caddy has set.
func isCopied(h http.Header) bool {
	for _, proxy := range h["Via"] {
		if strings.HasSuffix(proxy, " Caddy") {
			return true
		}
	}
	return !slices.Equal(h["Server"], []string{"Caddy"})
}

// isSignIn reports whether an upstream that answers with this status asks the client to sign in, or redirects
// it, as the upstream of forward_auth does. No model has worked for such a response.
func isSignIn(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return true
	}
	return 300 <= status && status < 400
}

// onStatus has f called once with the status of the response: see [response.State.OnStatus]. The status is
// 101 if the upstream has switched protocols, though a client of HTTP/2 or HTTP/3 gets 200 then.
func (e *Evaluation) onStatus(f func(status int)) {
	repl := e.Repl
	e.state.OnStatus(func(status int) {
		if status == http.StatusOK {
			if code, _ := repl.Get(upstreamCode); code == http.StatusSwitchingProtocols {
				status = http.StatusSwitchingProtocols
			}
		}
		f(status)
	})
}

// hideEncodings removes the header by which upstreams would compress their responses, so that these can be
// read. restore puts it back.
func hideEncodings(r *http.Request) (restore func()) {
	const name = "Accept-Encoding"
	values, found := r.Header[name]
	delete(r.Header, name)
	return func() {
		if found {
			r.Header[name] = values
		}
	}
}
