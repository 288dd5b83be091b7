package command

import (
	"strings"
	"testing"
)

func TestRemoteFlags(t *testing.T) {
	const needs = "use --address, --client-cert and --client-key"
	for _, tc := range []struct{ command, want string }{
		{"status --address 127.0.0.1:1 --client-cert a.crt", needs},
		{"status --address 127.0.0.1:1 --ca a.crt", needs},
		{"status --client-cert a.crt --client-key a.key", needs},
		{"status --address 127.0.0.1:1 --client-cert none.crt --client-key none.key", "reading the client certificate: open none.crt"},
	} {
		cmd := rateLimitCommand()
		cmd.SetArgs(strings.Fields(tc.command))
		cmd.SetErr(new(strings.Builder))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.command, err, tc.want)
		}
	}
}
