package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dashboardFile = root + "/deploy/grafana/fleetlimit.json"

// A dashboard has the members of a dashboard of Grafana that are checked.
type dashboard struct {
	UID, Title, Description string
	Templating              struct{ List []variable }
	Panels                  []panel
}

// A source is where a panel gets its data.
type source struct{ Type, UID string }

type variable struct {
	Name, Type string
	Datasource source
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ H, W, X, Y int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []target
}

// A target is a query of a panel.
type target struct {
	RefID, Expr string
	Datasource  source
}

func parseDashboard(t *testing.T, text string) *dashboard {
	t.Helper()
	d := new(dashboard)
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func readDashboard(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// chosen is the source that the viewer of a dashboard chooses.
var chosen = source{"prometheus", "${datasource}"}

var (
	selector = regexp.MustCompile(`\b(caddy_rate_limit_\w+)(\{[^}]*\})?`)
	ofRange  = regexp.MustCompile(`\[[^\]]*\]`)
	rising   = regexp.MustCompile(`_(total|bucket|count|sum)$`)
)

// problems returns what is wrong with a dashboard.
func (d *dashboard) problems() (found []string) {
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if d.UID == "" || d.Title == "" || d.Description == "" {
		report("the dashboard needs a uid, a title and a description")
	}
	names := make(map[string]string)
	for _, v := range d.Templating.List {
		names[v.Name] = v.Type
		if v.Type == "query" && v.Datasource != chosen {
			report("the variable %s has a fixed data source", v.Name)
		}
	}
	if names["datasource"] != "datasource" || names["job"] != "query" || names["instance"] != "query" {
		report("the dashboard needs the variables datasource, job and instance, and has %v", names)
	}
	ids, titles := make(map[int]string), make(map[string]bool)
	for i, p := range d.Panels {
		switch other, taken := ids[p.ID]; {
		case p.ID == 0 || taken:
			report("%s has the id %d, as %s", p.Title, p.ID, other)
		case p.Title == "" || titles[p.Title]:
			report("panel %d needs a title of its own, and has %q", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = p.Title, true
		if p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 {
			report("%s is not within 24 columns", p.Title)
		}
		for _, before := range d.Panels[:i] {
			if p.overlaps(&before) {
				report("%s overlaps %s", p.Title, before.Title)
			}
		}
		if p.Type != "row" {
			found = append(found, p.problems()...)
		}
	}
	return found
}

func (p *panel) overlaps(o *panel) bool {
	a, b := p.GridPos, o.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

// problems returns what is wrong with a panel of queries.
func (p *panel) problems() (found []string) {
	report := func(format string, args ...any) {
		found = append(found, p.Title+" "+fmt.Sprintf(format, args...))
	}
	if p.Description == "" {
		report("has no description")
	}
	if p.FieldConfig.Defaults.Unit == "" {
		report("has no unit")
	}
	if p.Datasource != chosen {
		report("has a fixed data source")
	}
	if len(p.Targets) == 0 {
		report("has no query")
	}
	refs := make(map[string]bool)
	for _, q := range p.Targets {
		if q.RefID == "" || refs[q.RefID] {
			report("has two queries %q", q.RefID)
		}
		refs[q.RefID] = true
		if q.Datasource != chosen {
			report("has a query with a fixed data source")
		}
		for _, r := range ofRange.FindAllString(q.Expr, -1) {
			if r != "[$__rate_interval]" {
				report("has the range %s: use [$__rate_interval]", r)
			}
		}
		selectors := selector.FindAllStringSubmatchIndex(q.Expr, -1)
		if len(selectors) == 0 {
			report("has a query without a metric: %q", q.Expr)
		}
		for _, at := range selectors {
			name, whole := q.Expr[at[2]:at[3]], q.Expr[at[0]:at[1]]
			for _, label := range []string{"job", "instance"} {
				if !strings.Contains(whole, label+`=~"$`+label+`"`) {
					report("selects %s by no $%s", name, label)
				}
			}
			if rising.MatchString(name) != strings.HasSuffix(q.Expr[:at[0]], "rate(") && name != "caddy_rate_limit_keys_total" {
				report("shows %s: use rate for counters, and only for them", name)
			}
		}
	}
	return found
}

func TestDashboard(t *testing.T) {
	d := parseDashboard(t, readDashboard(t))
	for _, problem := range d.problems() {
		t.Error(problem)
	}
	if len(d.Panels) < 20 {
		t.Errorf("the dashboard has %d panels, want 20 or more", len(d.Panels))
	}
}

// TestPlantedFaults plants faults in the dashboard, and checks that each is found.
func TestPlantedFaults(t *testing.T) {
	text := readDashboard(t)
	for _, tt := range []struct{ old, new, problem string }{
		{`"uid": "fleetlimit"`, `"uid": ""`, "needs a uid"},
		{`"name": "job"`, `"name": "jobs"`, "needs the variables"},
		{`"uid": "${datasource}"`, `"uid": "P1809F7CD0C75ACF3"`, "fixed data source"},
		{`"id": 3,`, `"id": 2,`, "has the id 2, as Decisions"},
		{`"title": "Latency of Redis"`, `"title": "Breakers"`, "needs a title of its own"},
		{`"title": "Latency of Redis"`, `"title": ""`, "needs a title of its own"},
		{`"description": "How long each primary`, `"descriptions": "How long each primary`, "Latency of Redis has no description"},
		{`"unit": "s"`, `"units": "s"`, "has no unit"},
		{`"w": 4, "x": 4`, `"w": 5, "x": 3`, "Rejected overlaps Decisions"},
		{`"w": 8, "x": 16`, `"w": 9, "x": 16`, "is not within 24 columns"},
		{`[$__rate_interval]`, `[5m]`, "has the range [5m]"},
		{`{job=~\"$job\", instance=~\"$instance\", zone=~\"$zone\"}[`, `{zone=~\"$zone\"}[`, "by no $job"},
		{`instance=~\"$instance\"})"`, `zone=~\".+\"})"`, "by no $instance"},
		{`sum(rate(caddy_rate_limit_decisions_total`, `sum(max(caddy_rate_limit_decisions_total`, "use rate for counters"},
		{`max(caddy_rate_limit_nodes{`, `rate(caddy_rate_limit_nodes{`, "use rate for counters, and only for them"},
		{`"refId": "B"`, `"refId": "A"`, `has two queries "A"`},
		{`"expr": "sum(`, `"expr": "", "was": "sum(`, "has a query without a metric"},
	} {
		if !strings.Contains(text, tt.old) {
			t.Errorf("%s has no %q", dashboardFile, tt.old)
			continue
		}
		found := parseDashboard(t, strings.Replace(text, tt.old, tt.new, 1)).problems()
		if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, tt.problem) }) {
			t.Errorf("with %s in place of %s, the problems are %q, want %q", tt.new, tt.old, found, tt.problem)
		}
	}
}

// checkQueries checks that each query of the dashboard has had data in the last minutes. A query that has
// data only if something is wrong ends in a comparison with 0. The data that it compares must exist.
func checkQueries(t *testing.T, p *server) {
	t.Helper()
	fill := strings.NewReplacer("$__rate_interval", "1m", "$job", ".+", "$instance", ".+", "$zone", ".+")
	for _, panel := range parseDashboard(t, readDashboard(t)).Panels {
		for _, q := range panel.Targets {
			expr := fill.Replace(strings.TrimSuffix(q.Expr, " > 0"))
			if len(p.query("last_over_time(("+expr+")[5m:500ms])")) == 0 {
				t.Errorf("%s has no data: %s", panel.Title, expr)
			}
		}
	}
}
