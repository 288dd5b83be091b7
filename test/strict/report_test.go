package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const pass = `{"Action":"run","Package":"m/a","Test":"TestX"}
{"Action":"output","Package":"m/a","Test":"TestX","Output":"chatter\n"}
{"Action":"pass","Package":"m/a","Test":"TestX"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
`
	for _, tc := range []struct {
		name, events  string
		mustRun       []string
		broken        bool
		want, wantErr string
	}{
		{
			name: "passes", events: pass, mustRun: []string{"m/a"},
			want: "ok  \tm/a\t0.1s\n1 passed, 0 failed, 0 skipped\n",
		}, {
			name: "long tests",
			events: `{"Action":"pass","Package":"m/a","Test":"TestX","Elapsed":5}
{"Action":"pass","Package":"m/a","Test":"TestY/one","Elapsed":7}
{"Action":"pass","Package":"m/a","Test":"TestY","Elapsed":7.4}
{"Action":"pass","Package":"m/a","Test":"TestZ","Elapsed":4.9}
`,
			want: "4 passed, 0 failed, 0 skipped\nslowest: a.TestY 7 s, a.TestX 5 s\n",
		}, {
			name: "a package that must run tests ran none", events: pass, mustRun: []string{"m/a", "m/test"},
			want:    "ok  \tm/a\t0.1s\n1 passed, 0 failed, 0 skipped\n",
			wantErr: "m/test ran no test",
		}, {
			name: "a skipped test",
			events: pass + `{"Action":"output","Package":"m/a","Test":"TestY","Output":"=== RUN   TestY\n"}
{"Action":"output","Package":"m/a","Test":"TestY","Output":"    y_test.go:7: no disk\n"}
{"Action":"output","Package":"m/a","Test":"TestY","Output":"--- SKIP: TestY (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestY"}
`,
			want:    "ok  \tm/a\t0.1s\n1 passed, 0 failed, 1 skipped\n",
			wantErr: "m/a.TestY: y_test.go:7: no disk",
		}, {
			name:   "a fuzz target skips a seed",
			events: pass + `{"Action":"skip","Package":"m/a","Test":"FuzzZ/seed#1"}` + "\n",
			want:   "ok  \tm/a\t0.1s\n1 passed, 0 failed, 0 skipped\n",
		}, {
			name: "a failure shows its output",
			events: `{"Action":"output","Package":"m/a","Test":"TestX","Output":"got 1\n"}
{"Action":"fail","Package":"m/a","Test":"TestX"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t0.1s\n"}
{"Action":"fail","Package":"m/a"}
`,
			want:    "got 1\nFAIL\tm/a\t0.1s\n0 passed, 1 failed, 0 skipped\n",
			wantErr: "go test failed",
		}, {
			name: "a package does not compile", broken: true,
			events:  pass + `{"ImportPath":"m/b","Action":"build-output","Output":"b.go:1: syntax error\n"}` + "\n",
			want:    "ok  \tm/a\t0.1s\nb.go:1: syntax error\n1 passed, 0 failed, 0 skipped\n",
			wantErr: "go test failed",
		}, {
			name: "nothing ran", events: "", want: "0 passed, 0 failed, 0 skipped\n", wantErr: "no test ran at all",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			r.mustRun, r.broken = tc.mustRun, tc.broken
			if err := r.read(strings.NewReader(tc.events)); err != nil {
				t.Fatal(err)
			}
			err := r.close()
			if out.String() != tc.want {
				t.Errorf("output = %q, want %q", out.String(), tc.want)
			}
			switch {
			case tc.wantErr == "" && err != nil:
				t.Errorf("error = %v, want none", err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Errorf("error = %v, want one with %q", err, tc.wantErr)
			}
		})
	}
}
