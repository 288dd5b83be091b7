package integration

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// scrape returns the product's metrics as the admin API shows them, by name and labels as they are written there.
func (g *gateway) scrape() map[string]float64 { g.t.Helper(); return g.scrapeAt(adminAddr) }

// scrapeAt returns the metrics that are shown at addr.
func (g *gateway) scrapeAt(addr string) map[string]float64 {
	g.t.Helper()
	series := make(map[string]float64)
	for line := range strings.Lines(g.scrapeText(addr)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || !strings.HasPrefix(name, "caddy_rate_limit_") {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			g.t.Errorf("a metric has no number: %q", line)
		}
		series[name] = number
	}
	return series
}

func (g *gateway) scrapeText(addr string) string {
	g.t.Helper()
	resp, err := g.client.Get("http://" + addr + "/metrics")
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		g.t.Fatalf("scraping: %s, %v", resp.Status, err)
	}
	return string(text)
}

// metric returns the value of one series, which has to be there.
func (g *gateway) metric(series string) float64 {
	g.t.Helper()
	all := g.scrape()
	value, found := all[series]
	if !found {
		g.t.Errorf("there is no series %s in %v", series, all)
	}
	return value
}
