package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChangeFlags(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "rules rollback 7 --note over --dry-run", request: "POST rules/versions/7/rollback?dry_run=true&note=over {}"},
		{command: "rules rollback 7 --if-match 9", request: `POST rules/versions/7/rollback "9" {}`},
		{command: `rules rollback 7 --if-match "9"`, request: `POST rules/versions/7/rollback "9" {}`},
		{command: "rules rollback 7 --if-match *", request: "POST rules/versions/7/rollback * {}"},
		{command: "rules rollback ../7", request: "POST rules/versions/..%2F7/rollback {}"},
	})
}

func TestAPIFailure(t *testing.T) {
	for _, tc := range []struct{ name, err, want string }{
		{"refusal", `caddy responded with error: HTTP 404: {"error":"there is no zone \"usr\": use one of [\"user\"]"}`,
			`there is no zone "usr": use one of ["user"]`},
		{"lines", `caddy responded with error: HTTP 400: {"error":"a\nb"}`, `"a\nb"`},
		{"another program", "caddy responded with error: HTTP 404: <html>", "localhost:2019 answers with status 404: use one that has"},
		{"nobody", "performing request: connection refused", "connection refused: use --address"},
	} {
		if got := apiFailure("localhost:2019", errors.New(tc.err)).Error(); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want it to have %q", tc.name, got, tc.want)
		}
	}
}

func TestAdminAddress(t *testing.T) {
	config := filepath.Join(t.TempDir(), "caddy.json")
	if err := os.WriteFile(config, []byte(`{"admin": {"listen": "localhost:3019"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args       []string
		want, fail string
	}{
		{nil, "localhost:2019", ""},
		{[]string{"--config", config}, "localhost:3019", ""},
		{[]string{"--config", config, "--address", "unix//a.sock"}, "unix//a.sock", ""},
		{[]string{"--config", config + "x"}, "", "use --address"},
		{[]string{"--address", "http://localhost:2019/"}, "", "use localhost:2019"},
	} {
		cmd := rateLimitCommand()
		if err := cmd.ParseFlags(tc.args); err != nil {
			t.Fatal(err)
		}
		got, err := adminAddress(cmd.Flags(), nil)
		if got != tc.want || (tc.fail != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), tc.fail) {
			t.Errorf("adminAddress of %q = %q, %v; want %q, %q", tc.args, got, err, tc.want, tc.fail)
		}
	}
}
