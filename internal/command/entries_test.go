package command

import (
	"strings"
	"testing"
)

func TestCommandsOfLists(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "override list", request: "GET overrides"},
		{command: "tier list --zone user --limit 2 --after a", request: "GET tiers?after=a&limit=2&zone=user"},
		{command: "override remove a/b --note n", request: "DELETE overrides/a%2Fb?note=n"},
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
