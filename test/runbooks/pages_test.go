package runbooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longest bounds the lines of a runbook, which is read in a hurry.
const longest = 60

var (
	alertRule   = regexp.MustCompile(`(?m)^  - alert: (\w+)$`)
	runbookURL  = regexp.MustCompile(`(?m)- alert: (\w+)\n(?:[^-].*\n| *\n)*?      runbook_url: \S*/(docs/runbooks/\S+)$`)
	alertsLine  = regexp.MustCompile(`(?ms)^- \*\*Alerts:\*\*(.*?)\n- \*\*`)
	panelsLine  = regexp.MustCompile(`(?ms)^- \*\*Panels:\*\*(.*?)\n\n`)
	alertRow    = regexp.MustCompile("(?m)^\\| `(RateLimit\\w+)` \\|")
	alertNamed  = regexp.MustCompile("`(RateLimit\\w+)`")
	panelNamed  = regexp.MustCompile(`\*([A-Z][^*]+)\*`)
	whitespaces = regexp.MustCompile(`\s+`)
)

// TestPagesNameWhatExists checks the length of each runbook, that the alerts and panels that it names exist,
// and that each alert leads to a page that names the alert.
func TestPagesNameWhatExists(t *testing.T) {
	rules := read(t, "../../deploy/prometheus/alerts.yml")
	var alerts []string
	for _, match := range alertRule.FindAllStringSubmatch(rules, -1) {
		alerts = append(alerts, match[1])
	}
	var dashboard struct{ Panels []struct{ Title string } }
	if err := json.Unmarshal([]byte(read(t, "../../deploy/grafana/fleetlimit.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	panels := make(map[string]bool)
	for _, p := range dashboard.Panels {
		panels[p.Title] = true
	}
	pages, err := filepath.Glob(folder + "*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("pages = %v, %v, want 10 or more", pages, err)
	}
	for _, page := range pages {
		text := read(t, page)
		if n := strings.Count(text, "\n"); n > longest {
			t.Errorf("%s has %d lines, want %d at most", page, n, longest)
		}
		named := alertNamed.FindAllStringSubmatch(first(alertsLine, text), -1)
		for _, name := range named {
			if !slices.Contains(alerts, name[1]) {
				t.Errorf("%s names the alert %s, which does not exist", page, name[1])
			}
		}
		shown := panelNamed.FindAllStringSubmatch(whitespaces.ReplaceAllString(first(panelsLine, text), " "), -1)
		for _, name := range shown {
			if !panels[name[1]] {
				t.Errorf("%s names the panel %q, which does not exist", page, name[1])
			}
		}
		if len(named) == 0 || len(shown) == 0 {
			t.Errorf("%s names %d alerts and %d panels, want some", page, len(named), len(shown))
		}
	}
	var listed []string
	for _, row := range alertRow.FindAllStringSubmatch(read(t, "../../docs/operate/monitoring.md"), -1) {
		listed = append(listed, row[1])
	}
	if !slices.Equal(listed, alerts) {
		t.Errorf("docs/operate/monitoring.md lists %v, want %v", listed, alerts)
	}
	leads := runbookURL.FindAllStringSubmatch(rules, -1)
	for _, to := range leads {
		if page := filepath.Base(to[2]); !strings.Contains(read(t, folder+page), "`"+to[1]+"`") {
			t.Errorf("%s leads to %s, which does not name it", to[1], page)
		}
	}
	if len(leads) != len(alerts) {
		t.Errorf("%d of %d alerts lead to a page", len(leads), len(alerts))
	}
}

// first returns what the first group of a pattern matches.
func first(pattern *regexp.Regexp, text string) string {
	if match := pattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
