package page

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

// aDay returns a made-up log of one day as CSV: 5,000 keys with Zipf's distribution, few requests at night
// and many by day, some jobs that send up to 180 requests at once, and a client that repeats its request for
// 15 minutes.
func aDay() string {
	const keys, day = 5000, 86400.0
	rng := rand.New(rand.NewPCG(1, 2))
	type request struct {
		at  float64
		key int
	}
	var sums [keys]float64
	sum := 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -1.1)
		sums[i] = sum
	}
	var all []request
	for len(all) < 100_000 {
		at := day * rng.Float64()
		if rng.Float64() < 0.55+0.45*math.Sin(2*math.Pi*(at/day-0.35)) {
			key, _ := slices.BinarySearch(sums[:], sum*rng.Float64())
			all = append(all, request{at, key})
		}
	}
	for range 60 {
		at, key := day*rng.Float64(), 200+rng.IntN(keys-200)
		for range 20 + rng.IntN(160) {
			at += rng.ExpFloat64() / 8
			all = append(all, request{at, key})
		}
	}
	for at := 15 * 3600.0; at < 15.25*3600; at += rng.ExpFloat64() / 4.5 {
		all = append(all, request{at, 4242})
	}
	slices.SortFunc(all, func(a, b request) int { return int(math.Copysign(1, a.at-b.at)) })
	var log strings.Builder
	log.WriteString("ts,key\n")
	for _, r := range all {
		fmt.Fprintf(&log, "%.6f,key-%04d\n", 1_767_225_600+r.at, r.key)
	}
	return log.String()
}

// TestSimulation looks at the page that the simulator writes: its charts are drawn, their tables have the
// figures of the JSON, and the page loads nothing.
func TestSimulation(t *testing.T) {
	dir := t.TempDir()
	log, file := filepath.Join(dir, "day.csv"), filepath.Join(dir, "report.html")
	if err := os.WriteFile(log, []byte(aDay()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := nodetest.Command("rate-limit", "simulate", log, "--time", "ts", "--duration", "0", "--key", "key",
		"--limit", "100/1m", "--algorithms", "all", "--nodes", "2", "--json", "--html", file).Output()
	if err != nil {
		t.Fatalf("simulate: %v", err)
	}
	var report struct {
		Keys        []struct{ Key string }
		Algorithms  []struct{ Admitted, Rejected int64 }
		Recommended struct{ Events int64 }
		Fleet       struct{ Outcomes []struct{ Admitted int64 } }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	b := open(t, newBrowser(t), "file://"+file)
	for _, width := range []int64{1100, 375} {
		for _, dark := range []bool{false, true} {
			b.size(width, 1500)
			b.dark(dark)
			where := fmt.Sprintf("%d pixels, dark = %v", width, dark)
			b.await("all charts, "+where, `document.querySelectorAll("figure canvas").length === 3`)
			b.checkWidth(where)
			if dark == (width == 375) { // axe has separate rules for colors and for sizes
				b.checkAccess(where)
			}
		}
	}
	b.awaitText("pre", fmt.Sprintf("limit %d/1m", report.Recommended.Events))
	b.awaitText("table", report.Keys[0].Key)
	b.eval(`document.querySelectorAll("details").forEach((d) => (d.open = true))`)
	shows := func(n int64) {
		t.Helper()
		b.await(fmt.Sprint(n), fmt.Sprintf(`[...document.querySelectorAll("td")].some((e) => e.innerText.replaceAll(",", "") === "%d")`, n))
	}
	for _, a := range report.Algorithms {
		shows(a.Admitted)
	}
	for _, o := range report.Fleet.Outcomes {
		shows(o.Admitted)
	}
	if len(report.Algorithms) == 0 || len(report.Fleet.Outcomes) == 0 {
		t.Error("the report lacks algorithms or fleets")
	}
	if n := b.eval(`performance.getEntriesByType("resource").filter((e) => !e.name.startsWith("data:")).length`); n != 0.0 {
		t.Errorf("the page loads %v files, want none", n)
	}
	if *screenshots != "" {
		b.eval(`document.querySelectorAll("details").forEach((d) => (d.open = false)), scrollTo(0, 0)`)
		b.dark(false)
		b.size(1100, 1040)
		picture := run(b, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(*screenshots, "simulate.png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
