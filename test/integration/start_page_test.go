package integration

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const startPage = "../../docs/start.md"

// TestStartPage serves the Caddyfile of docs/start.md, sends the requests of the page in their order, and
// compares the responses with what the page shows. Numbers of two digits or more may differ.
func TestStartPage(t *testing.T) {
	page, err := os.ReadFile(startPage)
	if err != nil {
		t.Fatal(err)
	}
	_, site, _ := strings.Cut(string(page), "\n```caddyfile\n:8080 {\n")
	site, _, _ = strings.Cut(site, "\n}\n```\n")
	g, shell := serve(t, site), newShell(t)
	number := regexp.MustCompile(`\d{2,}|[A-Z][a-z]{2}`) // also days and months of dates
	ran := 0
	for _, c := range pageCommands(t, startPage) {
		ran++
		var got string
		switch {
		case strings.HasPrefix(c.command, "for i in 1 2 3 4;"):
			for range 4 {
				got += strconv.Itoa(g.get("/", "X-Api-Key: alice").status) + "\n"
			}
		case strings.HasPrefix(c.command, "curl -si"):
			r := g.get("/", "X-Api-Key: alice").is(429)
			var lines []string
			for line := range strings.Lines(c.output) {
				if name, _, isHeader := strings.Cut(line, ": "); isHeader {
					lines = append(lines, name+": "+r.header.Get(name)+"\n")
				}
			}
			got = "HTTP/1.1 429 Too Many Requests\n" + strings.Join(lines, "") + "\n" + r.body
		case strings.HasPrefix(c.command, "bin/caddy rate-limit"):
			got, c.output = tableShape(shell.run(strings.TrimPrefix(c.command, "bin/"))), tableShape(c.output)
		default:
			ran-- // the command clones, builds, checks or starts
			continue
		}
		if g, w := number.ReplaceAllString(got, "N"), number.ReplaceAllString(c.output, "N"); strings.TrimSpace(g) != strings.TrimSpace(w) {
			t.Errorf("%s\nprints   %s\nits page %s", c.command, g, w)
		}
	}
	if ran != 3 {
		t.Errorf("%d commands of the page ran, want 3", ran)
	}
}
