package report

import (
	"net"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// A Subject is a request that reports are about.
type Subject struct {
	*http.Request
	*caddy.Replacer
}

// describe describes the request that the client sent, before rewrites, so that it can be found in
// the access log. The query is left out because it may hold secrets. key is nil if the request has
// no key.
func (r Subject) describe(key *keytemplate.Template) api.Request {
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	method, path := r.Method, r.URL.EscapedPath()
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		method, path = original.Method, original.URL.EscapedPath()
	}
	d := api.Request{
		RemoteIP: remote, ClientIP: r.client(), Method: shortened(method), Host: shortened(r.Host), Path: shortened(path),
	}
	if key != nil {
		if text := key.Text(r.Request, r.Replacer); text != "" { // the key of a client without an address has an empty text
			d.KeyHash = keytemplate.Hash(text)
		}
	}
	return d
}

// Describe describes the request without its key.
func (r Subject) Describe() api.Request { return r.describe(nil) }

// client returns the address of the client as Caddy determines it.
func (r Subject) client() string {
	text, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	return text
}

// fields returns the description of the request as fields of a line in the log. All fields are strings.
func (r Subject) fields(key *keytemplate.Template) []zap.Field {
	d := r.describe(key)
	fields := []zap.Field{
		zap.String("remote_ip", d.RemoteIP),
		zap.String("client_ip", d.ClientIP),
		zap.String("method", d.Method),
		zap.String("host", d.Host),
		zap.String("path", d.Path),
	}
	if d.KeyHash != "" {
		fields = append(fields, zap.String("key_hash", d.KeyHash))
	}
	return fields
}

// shortened returns the beginning of a long text, so that clients cannot fill the log with it.
func shortened(text string) string {
	const most = 512
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
