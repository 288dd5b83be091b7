package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

var (
	metricRow = regexp.MustCompile("(?m)^\\| `(caddy_rate_limit_[a-z_]+)` \\|")
	metric    = regexp.MustCompile(`caddy_rate_limit_[a-z]+(?:_[a-z]+)*`)
	histogram = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestMetricsOfPages looks for each metric that a page names in the tables of docs/operate/metrics.md. A test
// of test/integration compares these with what Caddy offers.
func TestMetricsOfPages(t *testing.T) {
	known := make(map[string]bool)
	for _, row := range metricRow.FindAllStringSubmatch(read(t, "docs/operate/metrics.md"), -1) {
		known[row[1]] = true
	}
	named := 0
	for _, page := range pages(t) {
		if page == "docs/migrating.md" { // it names metrics of another plugin
			continue
		}
		for _, name := range metric.FindAllString(read(t, page), -1) {
			named++
			if !known[name] && !known[histogram.ReplaceAllString(name, "")] {
				t.Errorf("%s names the metric %s, which docs/operate/metrics.md does not list", page, name)
			}
		}
	}
	if len(known) < 20 || named <= len(known) {
		t.Errorf("%d metrics are listed and %d named, want 20 and more", len(known), named)
	}
}

// TestModulesOfReadme compares the modules that README.md lists with the modules that Caddy has.
func TestModulesOfReadme(t *testing.T) {
	var want strings.Builder
	for _, id := range caddy.Modules() { // in the order of list-modules
		if strings.Contains(id, "rate_limit") {
			want.WriteString(id + "\n")
		}
	}
	if !strings.Contains(read(t, "README.md"), "$ ./caddy list-modules | grep rate_limit\n"+want.String()+"```") {
		t.Errorf("README.md does not list these modules, and no others:\n%s", want.String())
	}
}
