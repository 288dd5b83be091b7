package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	toldRejection = `{"time":"2026-01-02T03:04:05.678901Z","zone":"user","outcome":"rejected","source":"store","key":"a",` +
		`"client_ip":"192.0.2.1","method":"GET","host":"example.com","path":"/v1","status":429,"wait":"1m0.5s","limit":100,"remaining":0}` + "\n"
	toldDenial = `{"time":"2026-01-02T03:04:06Z","outcome":"denied","reason":"denied_address","client_ip":"2001:db8::1",` +
		`"method":"GET","host":"example.com","path":"/\u001b[2J","status":403}` + "\n"
	toldOutage = `{"time":"2026-01-02T03:04:07Z","zone":"user","outcome":"degraded","key_hash":"1234","client_ip":"192.0.2.1",` +
		`"method":"PUT","host":"example.com","path":"/","limit":100}` + "\n"
)

func TestDecisionsCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "decisions", request: "GET decisions?for=1m"},
		{command: "decisions --zone a --zone b --outcome denied --for 30s --sample 5% --limit 7",
			request: "GET decisions?for=30s&limit=7&outcome=denied&sample=5%25&zone=a&zone=b"},
		{command: "decisions sk_live_1 --zone user", request: `POST decisions?for=1m&zone=user {"key":"sk_live_1"}`},
		{command: "decisions --key-file - --for 2s", input: "a\n", request: `POST decisions?for=2s {"key":"a"}`},
		{command: "decisions /w== --base64", request: `POST decisions?for=1m {"key_base64":"/w=="}`},
		{command: "decisions 192.0.2.1 --missing", request: `POST decisions?for=1m {"key":"192.0.2.1","missing":true}`},
		{command: "decisions --missing", wrong: "there is no key: use"},
		{command: "decisions a b", wrong: "the number of arguments is 2: use"},
		{command: "decisions --key-file -", input: "a\nb\n", wrong: "there are 2 keys: use one"},
	})
	answer := toldRejection + toldDenial + `{"dropped":12}` + "\n" + toldOutage + `{"end":"duration"}` + "\n"
	const want = `TIME                      OUTCOME       ZONE      KEY               REMAINING  WAIT      CLIENT        REQUEST
2026-01-02T03:04:05.678Z  rejected      user      a                 0/100      1m0.5s    192.0.2.1     GET example.com/v1
2026-01-02T03:04:06.000Z  denied (denied_address)  -         -                 -          -         2001:db8::1   "GET example.com/\x1b[2J"
12 decisions are missing here: they came too fast
2026-01-02T03:04:07.000Z  degraded                 user      hash 1234         ?/100      -         192.0.2.1     PUT example.com/
`
	if ran := runCommand(t, "", answer, "decisions"); ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
	if ran := runCommand(t, "", answer, "decisions", "--json"); ran.err != nil || ran.output != answer {
		t.Errorf("%v, output of --json\n%s, want\n%s", ran.err, ran.output, answer)
	}
	if ran := runCommand(t, "", "ok\n", "decisions"); ran.err == nil || !strings.Contains(ran.err.Error(), "use the same version") {
		t.Errorf("error of another answer = %v", ran.err)
	}
}

// A command goes on after a reload, for the rest of its time and of its limit.
func TestDecisionsCommandOutlivesReloads(t *testing.T) {
	var queries []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		end := "reload"
		if len(queries) == 3 {
			end = "limit"
		}
		_, _ = fmt.Fprintf(w, "%s{\"end\":%q}\n", toldRejection, end)
	}))
	defer api.Close()
	var output bytes.Buffer
	cmd := rateLimitCommand()
	cmd.SetArgs([]string{"decisions", "--limit", "3", "--for", "10m", "--address", strings.TrimPrefix(api.URL, "http://")})
	cmd.SetOut(&output)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if len(queries) != 3 || !strings.HasPrefix(queries[0], "for=10m&limit=3") || !strings.HasPrefix(queries[2], "for=9m5") ||
		!strings.HasSuffix(queries[2], "limit=1") {
		t.Errorf("queries = %q", queries)
	}
	if text := output.String(); strings.Count(text, "TIME") != 1 || strings.Count(text, "rejected") != 3 {
		t.Errorf("output =\n%s", text)
	}
}

func TestDecisionsCommandTellsOfCutConnection(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, toldRejection)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer api.Close()
	cmd := rateLimitCommand()
	cmd.SetArgs([]string{"decisions", "--address", strings.TrimPrefix(api.URL, "http://")})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "is cut") {
		t.Errorf("error = %v, want one about the connection", err)
	}
}
