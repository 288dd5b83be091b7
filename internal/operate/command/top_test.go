package command

import "testing"

func TestTopCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "top user", request: "GET zones/user/top"},
		{command: `top user --limit 5 --endpoint /v1/*`, request: "GET zones/user/top?endpoint=%2Fv1%2F%2A&limit=5"},
		{command: "top user --fleet --by rejected --watch", request: "GET zones/user/top?by=rejected&fleet=true"},
		{command: "top", wrong: "the number of arguments is 0"},
		{command: "top user a", wrong: "the number of arguments is 2"},
	})
	for _, tc := range []struct{ answer, want string }{
		{`{"zone":"user","node":"a-1","by":"demand","unlisted_per_second":0,"keys":[
			{"key_shortened":"sk…","key_hash":"2bd806c97f0e","limit":"100/1m","demand_per_second":93.5,"taken_per_second":1.5,
				"rejected_per_second":92,"error_per_second":0,"utilisation":0.9},
			{"key_base64":"/w==","missing":true,"limit":"5/1s","demand_per_second":2,"taken_per_second":2,
				"rejected_per_second":0,"error_per_second":0,"utilisation":0.4},
			{"key":"a:b:c","key_stored":"a2E=","endpoint":"/v1/*","limit":"5/1s","demand_per_second":0.01,
				"taken_per_second":0.01,"rejected_per_second":0,"error_per_second":0.5,"utilisation":0}]}`,
			`node  a-1

KEY                      HASH          ENDPOINT  LIMIT   TAKEN/S  REJECTED/S  DEMAND/S  +-    UTILISATION
sk…                      2bd806c97f0e  -         100/1m  1.50     92.00       93.50     -     90.0 %
base64 "/w==" (missing)  -             -         5/1s    2.00     0.00        2.00      -     40.0 %
a:b:c stored "a2E="      -             /v1/*     5/1s    0.01     0.00        0.01      0.50  0.0 %
`},
		{`{"zone":"user","node":"a-1","fleet":{"nodes":3,"answered":2},"by":"taken","unlisted_per_second":1.25,"keys":[]}`,
			`nodes       2 of 3 have answered
other keys  at most 1.25/s each

KEY  HASH  ENDPOINT  LIMIT  TAKEN/S  REJECTED/S  DEMAND/S  +-  UTILISATION
`},
	} {
		ran := runCommand(t, "", tc.answer, "top", "user")
		if ran.err != nil || ran.output != tc.want {
			t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, tc.want)
		}
	}
}
