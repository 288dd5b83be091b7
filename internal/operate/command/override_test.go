package command

import "testing"

func TestOverrideCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "override add user a --limit 5/1m --id x --expires-in 2h --reason r",
			request: `POST overrides {"expires_in":"2h","id":"x","key":"a","limit":"5/1m","reason":"r","zone":"user"}`},
		{command: "override add user a --multiplier 2.5 --endpoint /a --dry-run --if-match 3",
			request: `POST overrides?dry_run=true "3" {"endpoint":"/a","key":"a","multiplier":2.5,"zone":"user"}`},
		{command: "override add user a --concurrent 2", request: `POST overrides {"concurrent":2,"key":"a","zone":"user"}`},
		{command: "override change x --concurrent 3", request: `PATCH overrides/x {"concurrent":3}`},
		{command: "override change x --limit 5/1m", request: `PATCH overrides/x {"limit":"5/1m","multiplier":null}`},
		{command: "override change x --multiplier 2 --expires-at= --note n",
			request: `PATCH overrides/x?note=n {"expires_at":null,"limit":null,"multiplier":2}`},
	})
}

// A command shows the limits that an override results in, because a multiplier does not say them.
func TestOverrideCommandShowsLimits(t *testing.T) {
	const limits = `"limits":[{"limit":"200/1m","was":"100/1m"},{"endpoint":"GET /a","tier":"pro","limit":"20/1s","was":"10/1s"}]`
	const shown = `
ENDPOINT          TIER  LIMIT WITH THE OVERRIDE  WITHOUT IT
rest of the zone  -     200/1m                   100/1m
GET /a            pro   20/1s                    10/1s
`
	for _, tc := range []struct {
		answer string
		args   []string
		want   string
	}{
		{`{"id":"x","zone":"user","key":"a","multiplier":2,` + limits + `}`, []string{"override", "add", "user", "a", "--multiplier", "2"},
			`ID  ZONE  KEY  LIMIT  ENDPOINT  EXPIRES AT  REASON  CREATED BY
x   user  a    x2     -         -           -       -
` + shown},
		{`{"version":8,"time":"2026-01-02T03:04:05Z","author":"me","dry_run":true,"changes":[],` + limits + `}`,
			[]string{"override", "change", "x", "--multiplier", "2", "--dry-run"},
			"dry run: this would be version 8 by me at 2026-01-02T03:04:05Z\n" + shown},
	} {
		if ran := runCommand(t, "", tc.answer, tc.args...); ran.err != nil || ran.output != tc.want {
			t.Errorf("%v: %v, output\n%s, want\n%s", tc.args, ran.err, ran.output, tc.want)
		}
	}
}
