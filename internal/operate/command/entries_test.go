package command

import (
	"strings"
	"testing"
)

func TestCommandsOfLists(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "override list", request: "GET overrides"},
		{command: "override list --zone user --key a", request: `POST zones/user/overrides {"key":"a"}`},
		{command: "override list --key a", wrong: "use --zone with --key"},
		{command: "tier list --zone user --limit 2 --after a", request: "GET tiers?after=a&limit=2&zone=user"},
		{command: "override remove a/b --note n", request: "DELETE overrides/a%2Fb?note=n"},
		{command: "override remove --zone user --key k --endpoint /v1", request: `DELETE overrides {"endpoint":"/v1","key":"k","zone":"user"}`},
		{command: "tier remove --zone user --key-file - --missing", input: "k\n", request: `DELETE tiers {"key":"k","missing":true,"zone":"user"}`},
		{command: "access remove --zone user --key aw== --base64 --dry-run", request: `DELETE access?dry_run=true {"key_base64":"aw==","zone":"user"}`},
		{command: "override remove", wrong: "use its ID, or --zone with --key"},
		{command: "override remove --key k", wrong: "use its ID, or --zone with --key"},
		{command: "override remove a --zone user --key k", wrong: "there are both an ID and a key"},
		{command: "override remove --zone user --key k --key-file -", input: "k", wrong: "use one of them"},
		{command: "tier change a", wrong: "nothing is changed: use the flags of"},
		{command: "access list all", wrong: "the number of arguments is 1"},
	})
	ran := runCommand(t, "", `{"tiers":[{"id":"a","zone":"user","key_base64":"/w==","missing":true,"tier":"pro",
		"expires_at":"2026-01-02T03:04:05.6Z"}],"next":"a"}`, "tier", "list")
	const want = `ID  ZONE  KEY                      TIER  EXPIRES AT            REASON  CREATED BY
a   user  base64 "/w==" (missing)  pro   2026-01-02T03:04:05Z  -       -
There are more: use --after a
`
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
	ran = runCommand(t, "", `{"id":"a","action":"deny","address":"192.0.2.1"}`, "access", "show", "a")
	if ran.request != "GET access/a" || !strings.Contains(ran.output, "a   deny    192.0.2.1  -     -") {
		t.Errorf("request %s, output\n%s", ran.request, ran.output)
	}
}
