package integration

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

// scrape returns this module's metrics from the admin API, by name and labels as they are written there.
func (g *gateway) scrape() map[string]float64 {
	g.t.Helper()
	g.awaitAdmin()
	return g.scrapeAt(adminAddr)
}

// awaitAdmin waits until the admin servers of earlier configurations have stopped. Until then, they may
// answer instead of the new one, with the metrics of their own configuration.
func (g *gateway) awaitAdmin() {
	g.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(g.logged("stopped previous server")) < g.loads; {
		if time.Now().After(deadline) {
			g.t.Fatalf("loads = %d, but stopped admin servers = %d", g.loads, len(g.logged("stopped previous server")))
		}
		<-time.After(time.Millisecond)
	}
}

// scrapeAt returns the metrics at addr.
func (g *gateway) scrapeAt(addr string) map[string]float64 {
	g.t.Helper()
	series := make(map[string]float64)
	for line := range strings.Lines(g.scrapeText(addr)) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ') // labels may contain spaces too
		if space < 0 || !strings.HasPrefix(line, "caddy_rate_limit_") {
			continue
		}
		name := line[:space]
		number, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			g.t.Errorf("metric without a number: %q", line)
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

// metric returns the sum of the series with a name and labels, 0 if there is none.
func (g *gateway) metric(series string) float64 {
	g.t.Helper()
	sum := 0.0
	for name, value := range g.scrape() {
		if nodetest.Matches(name, series) {
			sum += value
		}
	}
	return sum
}

// adminMetrics returns all metrics of the admin API.
func (g *gateway) adminMetrics() string {
	g.t.Helper()
	g.awaitAdmin()
	return g.scrapeText(adminAddr)
}
