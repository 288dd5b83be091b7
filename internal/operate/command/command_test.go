package command

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A commandRun is what a command has done.
type commandRun struct {
	request string // method, path without the author, If-Match if there is one, and body
	author  string
	output  string
	err     error
}

// runCommand runs `caddy rate-limit` with input on a Caddy whose admin endpoint gives this answer
// to each request.
func runCommand(t *testing.T, input, answer string, args ...string) (ran commandRun) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		query := r.URL.Query()
		ran.author = query.Get("author")
		query.Del("author")
		r.URL.RawQuery = query.Encode()
		path := strings.TrimPrefix(r.URL.RequestURI(), "/rate_limit/")
		parts := []string{r.Method, path, r.Header.Get("If-Match"), string(body)}
		ran.request = strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
		w.Header().Set("ETag", `"9"`)
		_, _ = io.WriteString(w, answer)
	}))
	defer api.Close()
	var output bytes.Buffer
	cmd := rateLimitCommand()
	cmd.SetArgs(append(args, "--address", strings.TrimPrefix(api.URL, "http://")))
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&output)
	cmd.SetErr(io.Discard)
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt() // what repeats does not
	ran.err = cmd.ExecuteContext(interrupted)
	ran.output = output.String()
	return ran
}

// runRefused returns the error of a command that the admin endpoint refuses with this answer.
func runRefused(t *testing.T, answer string, args ...string) error {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, answer)
	}))
	defer api.Close()
	cmd := rateLimitCommand()
	cmd.SetArgs(append(args, "--address", strings.TrimPrefix(api.URL, "http://")))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd.Execute()
}

func rateLimitCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "rate-limit", Short: "Limits", SilenceUsage: true}
	configureRateLimit(cmd)
	return cmd
}

// A commandCase is a command and the request that it sends, or the wrong usage that it reports.
type commandCase struct{ command, input, request, wrong string }

func testCommands(t *testing.T, cases []commandCase) {
	t.Helper()
	for _, tc := range cases {
		ran := runCommand(t, tc.input, "{}", strings.Split(tc.command, " ")...)
		if tc.wrong != "" {
			_, isUsage := ran.err.(*codeTwoError)
			if !isUsage || !strings.Contains(ran.err.Error(), tc.wrong) || ran.request != "" {
				t.Errorf("%s: %v, request %q; want wrong usage with %q", tc.command, ran.err, ran.request, tc.wrong)
			}
			continue
		}
		if ran.err != nil && ran.err != errNotOK || ran.request != tc.request {
			t.Errorf("%s: %v, request\n%s, want\n%s", tc.command, ran.err, ran.request, tc.request)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "frob", wrong: `has no command "frob": use access or add-quota`},
		{command: "override ad", wrong: `has no command "ad": use add`},
		{command: "status frob", wrong: `status has no command "frob": use nodes or zones`},
		{command: "inspect", wrong: "the number of arguments is 0: use rate-limit inspect <zone> [<key>]"},
		{command: "emergency on now", wrong: "the number of arguments is 1: use rate-limit emergency on"},
		{command: "status --jsn", wrong: "unknown flag: --jsn: use rate-limit status --help"},
	})
}

// Caddy knows the exit code from the error.
func TestExitCodeOfWrongUsage(t *testing.T) {
	err := runCommand(t, "", "{}", "inspect").err
	if err == nil {
		t.Fatal("no error")
	}
	codes := err.(*codeTwoError).Unwrap()
	if got := codes[1].Error(); !strings.Contains(got, "status 2") {
		t.Errorf("exit = %s, want status 2", got)
	}
}

// Each command explains itself, with an example that can be used.
func TestExamplesOfCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	const log = `{"ts":1,"request":{"client_ip":"192.0.2.1","headers":{"X-Api-Key":["k"]}}}`
	if err := os.WriteFile("access.log", []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("Caddyfile", []byte("localhost:80\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The tests of this package have no rate_limit in the Caddyfile.
	const zone = `{"apps":{"http":{"servers":{"srv0":{"routes":[{"handle":[{"handler":"rate_limit",
		"rate_limits":{"user":{"key":"{client_ip}","limit":"100/1m"}}}]}]}}}}}`
	if err := os.WriteFile("caddy.json", []byte(zone), 0o600); err != nil {
		t.Fatal(err)
	}
	var examine func(cmd *cobra.Command)
	examine = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			examine(sub)
		}
		if len(cmd.Commands()) > 0 && cmd.Example == "" {
			return // a group
		}
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example or no description", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			_, command, found := strings.Cut(strings.TrimSpace(line), "caddy rate-limit ")
			if !found {
				t.Errorf("%s: %q is no example of it", cmd.CommandPath(), line)
			}
			command = regexp.MustCompile(` [<>][a-z.]+$| --address \S+`).ReplaceAllString(command, "")
			command = strings.ReplaceAll(command, "Caddyfile --zone", "caddy.json --zone")
			words := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(strings.ReplaceAll(command, "rules.yaml", "-"), -1)
			for i := range words {
				words[i] = strings.Trim(words[i], `"`)
			}
			if ran := runCommand(t, "{}", "{}", words...); ran.err != nil && ran.err != errNotOK {
				t.Errorf("%s: %v", line, ran.err)
			}
		}
	}
	examine(rateLimitCommand())
}

func TestJSONOfCommands(t *testing.T) {
	const answer = `{"status":"ok",  "unknown": 1}` + "\n"
	if ran := runCommand(t, "", answer, "status", "--json"); ran.err != nil || ran.output != answer {
		t.Errorf("%v, output %q, want %q", ran.err, ran.output, answer)
	}
	ran := runCommand(t, "", "OK", "status")
	if ran.err == nil || !strings.Contains(ran.err.Error(), "use the same version") {
		t.Errorf("error after an answer of something else = %v, want one with a remedy", ran.err)
	}
}
