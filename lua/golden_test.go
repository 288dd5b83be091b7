package lua

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

var writeGolden = flag.Bool("golden.write", false, "write the generated scripts to testdata")

// TestGenerated compares the scripts for one rule of each algorithm with those in testdata. The files
// in testdata show what Redis runs, and make lint checks them.
func TestGenerated(t *testing.T) {
	scripts := map[string]string{
		"announce": Announce(), "nodes": Nodes(), "permits": Permits(),
		"top_want": WantTop(), "top_write": WriteTop(), "top_read": ReadTop(),
		"rules_read": ReadRules(), "rules_list": ListRules(), "rules_write": WriteRules(), "rules_complete": CompleteRules(),
	}
	for kind := range algorithms {
		kinds := []limiter.Kind{kind}
		scripts["take_"+kind.String()] = Take(kinds)
		scripts["lend_"+kind.String()] = Lend(kinds)
		scripts["refund_"+kind.String()] = Refund(kinds)
		scripts["charge_"+kind.String()] = Charge(kinds)
		scripts["reset_"+kind.String()] = Reset(kinds)
		scripts["add_quota_"+kind.String()] = AddQuota(kinds)
	}
	scripts["give_back_"+limiter.TokenBucket.String()] = GiveBack([]limiter.Kind{limiter.TokenBucket})
	for name, got := range scripts {
		file := filepath.Join("testdata", name+".lua")
		if *writeGolden {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from the generated script: use -golden.write if the change is right", file)
		}
	}
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) != len(scripts) {
		t.Errorf("scripts in testdata = %d, %v, want %d", len(files), err, len(scripts))
	}
}
