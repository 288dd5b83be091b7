package command

import (
	"strings"
	"testing"
)

func TestStatusCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "status", request: "GET status"},
		{command: "status zones", request: "GET zones"},
		{command: "status nodes", request: "GET nodes"},
		{command: "health", request: "GET status"},
		{command: "health --probe ready", request: "GET status"},
		{command: "health --probe serving", request: "GET status"},
		{command: "health --probe live", request: "GET health/live"},
		{command: "health --probe up", wrong: `--probe is "up": use live, serving, ready`},
	})
	ran := runCommand(t, "", `{"count":2,"self":"b","nodes":[{"name":"a","seen_ago":"2s"},{"name":"b"}]}`, "status", "nodes")
	const want = "NODE  SEEN    SELF\na     2s ago  -\nb     -       yes\n"
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
	ran = runCommand(t, "", `{"zones":[{"name":"user","compare":"10%","limits":[{"tiers":[
		{"limit":"100/1m","algorithm":"token_bucket","from":[],"compared":{"limit":"50/1m","algorithm":"sliding_window 6"}},
		{"tier":"pro","limit":"200/1m","algorithm":"token_bucket","from":[]},
		{"missing":true,"limit":"unlimited","from":[]}]}]}]}`, "status", "zones")
	const wantZones = "ZONE  ENDPOINT  TIER         LIMIT      ALGORITHM     FROM  DRY RUN  COMPARED WITH\n" +
		"user  -         -            100/1m     token_bucket  -     -        50/1m sliding_window 6 (10% of keys)\n" +
		"user  -         pro          200/1m     token_bucket  -     -        -\n" +
		"user  -         without key  unlimited  -             -     -        -\n"
	if ran.err != nil || ran.output != wantZones {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, wantZones)
	}
}

// The exit codes of checks: an answer that is bad news is shown, and is no error on the terminal.
func TestHealthCommand(t *testing.T) {
	const degraded = `{"status":"degraded","stores":[{"store":"redis sentinel s:1","status":"degraded","error":"the primaries
		cannot be looked up: refused","primaries":[{"address":"a:1","status":"ok"},{"address":"b:2","error":"it is silent"}]}],
		"mismatches":[{"zone":"user","node":"n","settings":["key","limit"]}]}`
	const shown = "status degraded store redis sentinel s:1: the primaries cannot be looked up: refused " +
		"primary b:2: it is silent mismatch zone user differs at n in key, limit"
	one := strings.Join(strings.Fields(degraded), " ")
	for _, test := range []struct {
		command, answer, output string
		code                    int
	}{
		{"health", `{"status":"ok"}`, "status ok", 0},
		{"health", one, shown, 1},
		{"health", `{"status":"draining"}`, "status draining", 1},
		{"health --json", `{"status":"draining"}`, `{"status":"draining"}`, 1},
		{"health", "no answer of a Caddy with rate_limit", "", 2},
		{"health twice", "{}", "", 2},
		{"health --probe ready", one, shown, 1},
		{"health --probe serving", one, shown, 0},
		{"health --probe serving", `{"status":"draining"}`, "status draining", 1},
		{"health --probe live", `{"status":"ok"}`, "status ok", 0},
		{"health --probe live", "no answer of a Caddy with rate_limit", "", 2},
		{"health --probe up", `{"status":"ok"}`, "", 2},
		{"status", `{"status":"ok"}`, "status ok", 0},
		{"status", one, shown, 1},
		{"status", "no answer of a Caddy with rate_limit", "", 1},
	} {
		ran := runCommand(t, "", test.answer, strings.Split(test.command, " ")...)
		code := 0
		if _, isTwo := ran.err.(*codeTwoError); isTwo {
			code = 2
		} else if ran.err != nil {
			code = 1
		}
		output := strings.Join(strings.Fields(ran.output), " ")
		if code != test.code || output != test.output && !strings.HasPrefix(output, test.output+" counts ") {
			t.Errorf("%s after %s: exit code %d, %v, output\n%s, want %d\n%s", test.command, test.answer, code, ran.err, output,
				test.code, test.output)
		}
	}
}
