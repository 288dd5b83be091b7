package command

import "testing"

func TestStatusCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "status", request: "GET status"},
		{command: "status zones", request: "GET zones"},
		{command: "status nodes", request: "GET nodes"},
	})
	ran := runCommand(t, "", `{"count":2,"self":"b","nodes":[{"name":"a","seen_ago":"2s"},{"name":"b"}]}`, "status", "nodes")
	const want = "NODE  SEEN    SELF\na     2s ago  -\nb     -       yes\n"
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
	ran = runCommand(t, "", `{"zones":[{"name":"user","compare":"10%","limits":[{"tiers":[
		{"limit":"100/1m","algorithm":"token_bucket","from":[],"compared":{"limit":"50/1m","algorithm":"sliding_window 6"}},
		{"tier":"pro","limit":"200/1m","algorithm":"token_bucket","from":[]}]}]}]}`, "status", "zones")
	const wantZones = "ZONE  ENDPOINT  TIER  LIMIT   ALGORITHM     FROM  DRY RUN  COMPARED WITH\n" +
		"user  -         -     100/1m  token_bucket  -     -        50/1m sliding_window 6 (10% of keys)\n" +
		"user  -         pro   200/1m  token_bucket  -     -        -\n"
	if ran.err != nil || ran.output != wantZones {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, wantZones)
	}
}
