package command

import "testing"

func TestRulesCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "rules get", request: "GET rules"},
		{command: "rules get 7", request: "GET rules/versions/7"},
		{command: "rules put - --if-match 9", input: "zones: {user: {limit: 50/1m}}",
			request: `PUT rules "9" {"zones":{"user":{"limit":"50/1m"}}}`},
		{command: "rules put - --if-match 9", input: `{"zones": {}}`, request: `PUT rules "9" {"zones": {}}`},
		{command: "rules patch - --note n", input: "overrides: null", request: `PATCH rules?note=n {"overrides":null}`},
		{command: "rules patch -", input: "a: b: c", wrong: "use valid YAML"},
		{command: "rules patch /does/not/exist", wrong: "use a file that can be read"},
		{command: "rules history --limit 2 --before 9", request: "GET rules/versions?before=9&limit=2"},
		{command: "rules diff", request: "GET rules/diff"},
		{command: "rules diff 3 7", request: "GET rules/diff?from=3&to=7"},
		{command: "rules diff 3", wrong: "use two, or none"},
	})
	for _, tc := range []struct {
		answer string
		args   []string
		want   string
	}{
		{`{"zones":{"user":{"limit":"1/s"}}}`, []string{"rules", "get"},
			"# version 9\nzones:\n    user:\n        limit: 1/s\n"},
		{`{"version":8,"time":"2026-01-02T03:04:05Z","author":"me","note":"n","dry_run":true,
			"changes":[{"path":"emergency","from":null,"to":{"limit":"1/s"}}],"more":2}`,
			[]string{"rules", "rollback", "7", "--dry-run"},
			`dry run: this would be version 8 by me at 2026-01-02T03:04:05Z: n
PATH       FROM  TO
emergency  -     {"limit":"1/s"}
and 2 more
`},
		{`{"versions":[{"version":2,"time":"2026-01-02T03:04:05Z","author":"me","actions":[{"kind":"reset","zone":"user",
			"key":"a"},{"kind":"reset","zone":"user","key":"b"}]}],"next":2}`, []string{"rules", "history"},
			`VERSION  TIME                  AUTHOR  NOTE  WHAT
2        2026-01-02T03:04:05Z  me      -     reset user a and 1 more
There are more: use --before 2
`},
	} {
		if ran := runCommand(t, "", tc.answer, tc.args...); ran.err != nil || ran.output != tc.want {
			t.Errorf("%v: %v, output\n%s, want\n%s", tc.args, ran.err, ran.output, tc.want)
		}
	}
}
