package placeholder

// shorthands are the words that stand for placeholders of Caddy in a Caddyfile, such as `{client_ip}`.
// A word that ends with a dot takes a name, as in `{header.X-Api-Key}`.
var shorthands = []string{
	"client_ip", "cookie.", "dir", "err.", "file", "file.", "file_match.", "header.", "host", "hostport", "labels.",
	"method", "orig_dir", "orig_file", "orig_method", "orig_path", "orig_query", "orig_uri", "path", "path.", "port",
	"query", "query.", "re.", "remote", "remote_host", "remote_port", "resp.", "rp.", "scheme", "tls_cipher",
	"tls_client_certificate_der_base64", "tls_client_certificate_pem", "tls_client_fingerprint", "tls_client_issuer",
	"tls_client_serial", "tls_client_subject", "tls_version", "upstream_hostport", "uri", "uuid", "vars.",
}

// names are Caddy's placeholders that each request has. A name that ends with a dot takes a further
// name or a number.
var names = []string{
	"http.request.body", "http.request.body_base64", "http.request.cookie.", "http.request.duration",
	"http.request.duration_ms", "http.request.header.", "http.request.host", "http.request.host.labels.",
	"http.request.hostport", "http.request.local", "http.request.local.host", "http.request.local.port",
	"http.request.method", "http.request.orig_method", "http.request.orig_uri", "http.request.orig_uri.path",
	"http.request.orig_uri.path.", "http.request.orig_uri.path.dir", "http.request.orig_uri.path.file",
	"http.request.orig_uri.prefixed_query", "http.request.orig_uri.query", "http.request.port", "http.request.proto",
	"http.request.proto_name", "http.request.remote", "http.request.remote.host", "http.request.remote.port",
	"http.request.scheme", "http.request.tls.cipher_suite", "http.request.tls.client.certificate_der_base64",
	"http.request.tls.client.certificate_pem", "http.request.tls.client.fingerprint", "http.request.tls.client.issuer",
	"http.request.tls.client.public_key", "http.request.tls.client.public_key_sha256",
	"http.request.tls.client.san.dns_names.", "http.request.tls.client.san.emails.", "http.request.tls.client.san.ips.",
	"http.request.tls.client.san.uris.", "http.request.tls.client.serial", "http.request.tls.client.subject",
	"http.request.tls.proto", "http.request.tls.resumed", "http.request.tls.server_name", "http.request.tls.version",
	"http.request.uri", "http.request.uri.path", "http.request.uri.path.", "http.request.uri.path.dir",
	"http.request.uri.path.file", "http.request.uri.path.file.base", "http.request.uri.path.file.ext",
	"http.request.uri.path_escaped", "http.request.uri.prefixed_query", "http.request.uri.query",
	"http.request.uri.query.", "http.request.uri.query_escaped", "http.request.uri_escaped", "http.request.uuid",
	"http.vars.", "system.arch", "system.hostname", "system.os", "system.slash", "system.wd", "time.now",
	"time.now.common_log", "time.now.http", "time.now.rfc3339", "time.now.unix", "time.now.unix_ms", "time.now.year",
}

// closed are the namespaces in which only Caddy has placeholders. Plugins add others to the rest of
// `http.request.`, such as `http.request.body.<field>` and `http.request.host.cname`.
var closed = []string{
	"http.request.host.labels.", "http.request.local.", "http.request.orig_uri.", "http.request.remote.",
	"http.request.tls.", "http.request.uri.", "system.", "time.",
}

// sometimes are the namespaces of placeholders that only some requests have: those that a matcher has
// matched, or that have passed a handler. Other requests expand such a placeholder to nothing.
var sometimes = []string{
	"http.auth.", "http.intercept.", "http.matchers.", "http.rate_limit.", "http.regexp.", "http.reverse_proxy.",
	"http.url_pattern.",
}

// perConnection are the placeholders that have a new value on each connection, and perRequest those
// that have a new value on each request. The names without `http.request.` belong to error handling, to
// the proxy and to common plugins.
var (
	perConnection = []string{"http.request.remote", "http.request.remote.port"}
	perRequest    = []string{
		"extra.rand.float", "http.error.id", "http.error.trace", "http.request.duration", "http.request.duration_ms",
		"http.request.uuid", "http.request_id", "http.reverse_proxy.duration", "http.reverse_proxy.duration_ms",
		"http.reverse_proxy.upstream.latency", "http.reverse_proxy.upstream.latency_ms", "http.time_until_shutdown",
		"time.now", "time.now.common_log", "time.now.http", "time.now.rfc3339", "time.now.unix", "time.now.unix_ms",
	}
)

// chosenPerRequest are the placeholders whose value a client can change in each request without asking
// for something else.
var chosenPerRequest = []string{
	"http.request.body", "http.request.body_base64", "http.request.orig_uri", "http.request.orig_uri.prefixed_query",
	"http.request.orig_uri.query", "http.request.uri", "http.request.uri.prefixed_query", "http.request.uri.query",
	"http.request.uri.query_escaped", "http.request.uri_escaped",
}

// requestHeaders are the headers that identify one request, by convention.
var requestHeaders = []string{
	"Cf-Ray", "Idempotency-Key", "Request-Id", "Sec-Websocket-Key", "Traceparent", "X-Amz-Cf-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-B3-Traceid",
	"X-Cloud-Trace-Context", "X-Correlation-Id", "X-Request-Id", "X-Trace-Id",
}

// addressWords are words for the client's address, in lower case and without punctuation.
var addressWords = []string{
	"addr", "address", "binaryremoteaddr", "byip", "clientaddr", "clientaddress", "clientip", "clientipaddress", "ip",
	"ipaddr", "ipaddress", "ips", "peerip", "perip", "realip", "remoteaddr", "remoteaddress", "remoteip", "requestip",
	"sourceip",
	"srcip", "userip", "xforwardedfor",
}

// families maps words for the placeholders that take a name to the right shorthand.
var families = map[string]string{
	"cookie": "cookie.", "cookies": "cookie.", "header": "header.", "headers": "header.", "queries": "query.",
	"query": "query.", "queryparam": "query.", "queryparams": "query.", "querystring": "query.", "var": "vars.",
	"vars": "vars.",
}

// others maps wrong names that do not resemble the right name to that name.
var others = map[string]string{
	"auth.user.id": "http.auth.user.id", "auth.user": "http.auth.user.id", "http.auth.id": "http.auth.user.id",
	"http.auth.user": "http.auth.user.id", "http.auth.username": "http.auth.user.id",
	"http.basic_auth.user": "http.auth.user.id", "http.basicauth.user": "http.auth.user.id",
	"http.remote_user": "http.auth.user.id", "http.request.user": "http.auth.user.id",
	"http.request.url": "http.request.uri", "http.request.url.path": "http.request.uri.path",
	"http.request.url.query": "http.request.uri.query", "http.request.user.id": "http.auth.user.id",
	"http.user": "http.auth.user.id", "http.user.id": "http.auth.user.id",
	"remote_user": "http.auth.user.id",
}

// headerWords are the names of headers that people write as a key. All names that begin with `X-`, or
// end with `-Client-IP` or `-Connecting-IP`, are also names of headers.
var headerWords = []string{
	"api-key", "api_key", "apikey", "authorization", "cookie", "cookies", "forwarded", "header", "headers",
	"user-agent", "user_agent", "useragent",
}
