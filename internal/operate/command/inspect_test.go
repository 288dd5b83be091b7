package command

import (
	"strings"
	"testing"
)

func TestInspectCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "inspect user a", request: `POST zones/user/inspect {"key":"a"}`},
		{command: "inspect user --key-file - --tier pro", input: "a", request: `POST zones/user/inspect {"key":"a","tier":"pro"}`},
		{command: "inspect user", wrong: "there is no key"},
		{command: "inspect user ZA== --stored", request: `POST zones/user/inspect {"key_stored":"ZA=="}`},
		{command: "inspect user YQ== --base64", request: `POST zones/user/inspect {"key_base64":"YQ=="}`},
	})
	ran := runCommand(t, "", `{"zone":"user","key":"a","version":3,"tier":{"name":"pro","source":"rules","entry":"acme"},
		"counts":[{"endpoint":"/a","tier":"pro","limit":"20/1m","from":[{"limit":"10/1m","source":"configuration","place":"zone"},
		{"multiplier":2,"source":"override","place":"key","override":"launch"}],
		"count":{"limit":20,"remaining":5,"consumed":15,"retry_at":"2026-01-02T03:04:05.6Z"},
		"node":{"leases":[{"events":7,"expires_at":"2026-01-02T03:04:05Z"}],"debt":2}},
		{"limit":"1/s","from":[],"error":"Redis is gone"}]}`, "inspect", "user", "a")
	const want = `zone    user
key     a
access  -
tier    pro (rules acme)
rules   version 3

ENDPOINT  TIER  LIMIT  CONSUMED  REMAINING  RETRY AT              RESET AT  LEASED  FROM
/a        pro   20/1m  15        5          2026-01-02T03:04:05Z  -         0       zone 10/1m (configuration), key x2 (override launch)
-         -     1/s    -         -          -                     -         -       -

this node at /a:
lease         7 events until 2026-01-02T03:04:05Z
debt          2
denied until  -

no count: Redis is gone
`
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
	if strings.Contains(ran.request, "inspect/a") {
		t.Errorf("the key is in the path of %s", ran.request)
	}
}

func TestInspectCommandShowsTiersOfRequests(t *testing.T) {
	ran := runCommand(t, "", `{"zone":"user","key":"a","version":3,"tier":{"source":"placeholder","placeholder":"{vars.tier}"},
		"counts":[{"tier":"free","limit":"60/1m","from":[],"count":{"limit":60,"remaining":0,"consumed":72},"node":{"leases":[]}},
		{"tier":"pro","limit":"200/1m","from":[],"count":{"limit":200,"remaining":128,"consumed":72},"node":{"leases":[]}}]}`,
		"inspect", "user", "a")
	const want = `zone    user
key     a
access  -
tier    each request decides, by {vars.tier}: use --tier to show one
rules   version 3

ENDPOINT  TIER  LIMIT   CONSUMED  REMAINING  RETRY AT  RESET AT  LEASED  FROM
-         free  60/1m   72        0          -         -         0       -
-         pro   200/1m  72        128        -         -         0       -

this node:
debt          0
denied until  -
`
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
}
