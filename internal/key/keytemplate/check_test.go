package keytemplate

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST", "node1.example.com")
	t.Setenv("FLEETLIMIT_TEST_KEY", "{client_ip}")
	for _, tc := range []struct{ raw, want string }{ // want is "" if there is no error
		{"static", ""},
		{"", ""},
		{"{env.FLEETLIMIT_TEST}", ""},
		{"{client_ip}", ""},
		{"{header.X-Api-Key}", ""},
		{"ip:{client_ip} path:{path}", ""},
		{"${client_ip}", ""},
		{"{my_tier}", ""},
		{"{re.name.1}", ""},
		{"{http.error.status_code}", ""},
		{"client_ip", "use {client_ip}"},
		{"header.X-Api-Key", "use {header.X-Api-Key}"},
		{`\{client_ip\}`, "use {client_ip}"},
		{"{remote_ip}", "use {client_ip}"},
		{"{http.request.headers.X}", "use {http.request.header.X}"},
		{"{header.X-Api-Key}:{remote.ip}", "use {client_ip}"},
		{"{client_ip}:http.request.uri.path", "use {http.request.uri.path}"},
		{"{env.FLEETLIMIT_TEST_KEY}", "use {$NAME}"},
		{"{client_ip}/24", "use ipv4_prefix 24"},
		{"{client_ip}/{path}", ""},
		{"{remote}", "new on each connection"},
		{"{client_ip}:{remote_port}", "new on each connection"},
		{"{uuid}", "new on each request"},
		{"{header.X-Api-Key}:{time.now.unix}", "new on each request"},
	} {
		err := mustTemplate(t, tc.raw, defaults).Check()
		if tc.want == "" && err != nil {
			t.Errorf("%s: %v", tc.raw, err)
		} else if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want one that says %q", tc.raw, err, tc.want)
		}
	}
}

func TestWarning(t *testing.T) {
	for raw, want := range map[string]string{
		"{header.X-Request-ID}": "new value on each request",
		"{header.X_Api_Key}":    "removes headers with underscores",
		"{header.X-Api-Key}":    "",
		"{query.api_key}":       "",

		"{env.HOME}":                      "the same for all requests",
		"{system.hostname}":               "use `static`",
		"{env.HOME}:{client_ip}":          "",
		"static":                          "",
		"{query}":                         "{http.request.uri.query} has a new value whenever a client likes",
		"{uri}":                           "such as {client_ip}",
		"{host}:{http.request.body}":      "a new count",
		"{path}":                          "",
		"{header.X-Api-Key}||{client_ip}": "use one of them, and `on_missing_key`",
		"{client_ip}|{path}":              "",
		"${client_ip}":                    `"$" around a placeholder`,
		"'{client_ip}'":                   "use the placeholder without it",
		"{client_ip}${host}":              "",
		"{header.Idempotency-Key}":        "new value on each request",
	} {
		err := mustTemplate(t, raw, defaults).Warning()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("warning about %s: %v, want %q", raw, err, want)
		}
	}
}
