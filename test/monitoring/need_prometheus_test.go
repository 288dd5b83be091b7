package monitoring

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/scripttest"
)

// Each row runs need-prometheus.sh with only the programs of the row. Package managers and sudo record their
// calls. apt-get records whether Debian's packages may start a server.
func TestNeedPrometheusScript(t *testing.T) {
	const (
		root = "echo 0"
		user = "echo 1000"
		get  = `for p in prometheus promtool; do cp "$HERE/$p-new" "$HERE/$p"; done`
		apt  = `case "$*" in *update*) ;; *) "$NEED_PROMETHEUS_POLICY" && echo "starts a server" >>"$HERE/calls"; ` + get + `; esac`
		call = "apt-get -y install --no-install-recommends prometheus\n"
	)
	version := func(program, v string) string { return "echo '" + program + ", version " + v + " (branch: x)'" }
	type programs map[string]string
	for _, tt := range []struct {
		name     string
		programs programs
		calls    string
		prints   string // a part of the output, which has "https://prometheus.io" if the script fails
		fails    bool
	}{
		{"new enough", programs{"id": root, "prometheus": version("prometheus", "3.5.0"), "promtool": version("promtool", "2.42.0+ds")}, "", "", false},
		{"too old is left alone", programs{"id": root, "prometheus": version("prometheus", "2.41.0"), "promtool": version("promtool", "2.53.0"),
			"apt-get": apt}, "", "have version 2.41.0", true},
		{"without promtool", programs{"id": root, "prometheus": version("prometheus", "2.53.0"), "apt-get": apt}, call,
			"installed prometheus 2.53.0", false},
		{"no package manager", programs{"id": root}, "", "not both in PATH", true},
		{"neither root nor sudo", programs{"id": user, "apt-get": apt}, "", "not both in PATH", true},
		{"apt-get that fails", programs{"id": root, "apt-get": "echo 'E: the disk is full' >&2; exit 100"},
			call + "apt-get -y update\n", "E: the disk is full\nThe tests need prometheus", true},
		{"dnf by sudo", programs{"id": user, "sudo": `shift; exec "$@"`, "dnf": get},
			"sudo -n true\nsudo -n dnf install -y golang-github-prometheus\ndnf install -y golang-github-prometheus\n",
			"installed prometheus 2.53.0", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"prometheus", "promtool"} {
				tt.programs[name+"-new"] = version(name, "2.53.0")
			}
			m := scripttest.New(t, []string{"sed", "env", "true", "cp", "rm", "sh", "sort", "head", "chmod"}, tt.programs)
			policy := filepath.Join(m.Here, "policy-rc.d")
			m.CheckNeeds("need-prometheus.sh", tt.fails, "https://prometheus.io", tt.prints, tt.calls, "NEED_PROMETHEUS_POLICY="+policy)
			if _, err := os.Stat(policy); err == nil {
				t.Error("it leaves its policy behind")
			}
		})
	}
}
