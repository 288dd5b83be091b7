package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dashboardType begins a program that is valid if the text that follows is a dashboard of Grafana. JSON has
// the texts of the enumerations, not their names.
const dashboardType = `import type { Dashboard } from "@grafana/schema";
type Written<T> =
	unknown extends T ? T :
	T extends string ? ` + "`${T}`" + ` :
	T extends object ? { [K in keyof T]: Written<T[K]> } : T;
export const dashboard: Written<Dashboard> = `

// TestNodeDashboard has TypeScript compare the dashboard with the types of Grafana. It plants faults, which
// TypeScript must find.
func TestNodeDashboard(t *testing.T) {
	const file = "../../deploy/grafana/fleetlimit.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if problems := checkTypes(t, string(text)); problems != "" {
		t.Errorf("%s is no dashboard of Grafana:\n%s", file, problems)
	}
	planted := string(text)
	faults := []struct{ old, new, problem string }{
		{`"schemaVersion": 39`, `"schemaVersion": "39"`, "Type 'string' is not assignable to type 'number'"},
		{`"title": "Breakers"`, `"titel": "Breakers"`, `'"titel"' does not exist`},
		{`"mode": "absolute"`, `"mode": "relative"`, `'"absolute" | "percentage"'`},
		{`"refresh": 2`, `"refresh": 9`, "VariableRefresh"},
	}
	for _, f := range faults {
		planted = strings.Replace(planted, f.old, f.new, 1)
	}
	problems := checkTypes(t, planted)
	for _, f := range faults {
		if !strings.Contains(problems, f.problem) {
			t.Errorf("with %s in place of %s, the problems are\n%s\nwant %q", f.new, f.old, problems, f.problem)
		}
	}
}

// checkTypes returns what TypeScript finds wrong with a dashboard, "" if nothing is.
func checkTypes(t *testing.T, dashboard string) (problems string) {
	t.Helper()
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := `{"compilerOptions": {"strict": true, "noEmit": true, "skipLibCheck": true, "types": [], "module": "esnext",
		"moduleResolution": "bundler", "paths": {"@grafana/schema": ["` + modules + `/@grafana/schema"]}}, "files": ["dashboard.ts"]}`
	for name, content := range map[string]string{"tsconfig.json": config, "dashboard.ts": dashboardType + dashboard} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command("node", filepath.Join(modules, "typescript/lib/tsc.js"), "-p", dir).CombinedOutput() // it fails if there is a problem
	return string(out)
}
