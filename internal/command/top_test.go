package command

import "testing"

func TestTopCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "top user", request: "GET zones/user/top"},
		{command: `top user --limit 5 --endpoint /v1/*`, request: "GET zones/user/top?endpoint=%2Fv1%2F%2A&limit=5"},
		{command: "top", wrong: "the number of arguments is 0"},
		{command: "top user a", wrong: "the number of arguments is 2"},
	})
	for _, tc := range []struct{ answer, want string }{
		{`{"zone":"user","node":"a-1","by":"demand_per_second","keys":[
			{"key":"sk_1","limit":"100/1m","demand_per_second":93.5,"denied":true,"retry_at":"2026-01-02T03:04:05Z"},
			{"key_base64":"/w==","missing":true,"limit":"5/1s","demand_per_second":2,"denied":false},
			{"key":"a:b:c","key_stored":"a2E=","endpoint":"/v1/*","limit":"5/1s","demand_per_second":0.01,"denied":true},
			{"key_stored":"ZAA=","limit":"5/1s","demand_per_second":0.01,"denied":false}]}`,
			`node  a-1

KEY                      ENDPOINT  LIMIT   PER SECOND  DENIED  RETRY AT
sk_1                     -         100/1m  93.50       yes     2026-01-02T03:04:05Z
base64 "/w==" (missing)  -         5/1s    2.00        -       -
a:b:c stored "a2E="      /v1/*     5/1s    0.01        yes     -
stored "ZAA="            -         5/1s    0.01        -       -
`},
		{`{"zone":"user","node":"a-1","by":"consumed","keys":[{"key":"sk_1","limit":"100/1m","consumed":93,"denied":false}]}`,
			`node  a-1

KEY   ENDPOINT  LIMIT   CONSUMED  DENIED  RETRY AT
sk_1  -         100/1m  93        -       -
`},
	} {
		ran := runCommand(t, "", tc.answer, "top", "user")
		if ran.err != nil || ran.output != tc.want {
			t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, tc.want)
		}
	}
}
