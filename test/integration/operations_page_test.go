package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestCommandsOfOperationsPage runs the commands of docs/operations.md in their order, and compares
// what they print with what the page shows: the same members, with the same values where those do
// not depend on the machine or the time.
func TestCommandsOfOperationsPage(t *testing.T) {
	redis := redistest.NewServer(t)
	g := newGateway(t)
	g.mustLoad(g.caddyfile("rate_limit {\nredis {\naddress "+redis.Addr+"\n}\n}",
		"rate_limit_health /healthz live\nrate_limit_health /readyz\n"+zoneSite("limit 5/1h")))
	t.Cleanup(func() { g.admin("DELETE", "/rate_limit/emergency", "").is(200) })
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	ran, command := 0, ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "$ curl "):
			command = strings.TrimPrefix(line, "$ ")
		case command != "":
			ran++
			body := g.curl(command).body
			if got, want := shape(t, body), shape(t, line); got != want {
				t.Errorf("%s\nprints   %s\nthe page %s", command, got, want)
			}
			command = ""
		}
	}
	if ran < 6 {
		t.Errorf("commands that ran = %d, want 6 or more", ran)
	}
}

// curl does what a command of curl does, which has only the options that the page needs.
func (g *gateway) curl(command string) *reply {
	g.t.Helper()
	method, url, body := "GET", "", ""
	var headers []string
	args := shellWords(command)[1:]
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch arg {
		case "-s":
		case "-X":
			method, args = args[0], args[1:]
		case "-H":
			headers, args = append(headers, args[0]), args[1:]
		case "-d":
			method, body, args = "POST", args[0], args[1:]
		default:
			url = arg
		}
	}
	if path, ofAdmin := strings.CutPrefix(url, "localhost:2019"); ofAdmin {
		if body != "" && !slices.Contains(headers, "Content-Type: application/json") {
			headers = append(headers, "Content-Type: application/x-www-form-urlencoded") // as curl does
		}
		return g.admin(method, path, body, headers...).is(200)
	}
	path, ofSite := strings.CutPrefix(url, "localhost:8080")
	if !ofSite {
		g.t.Fatalf("the address in %q is neither that of the admin endpoint nor that of the site", command)
	}
	return g.request(method, path, headers...).is(200)
}

// shellWords splits a command at spaces outside of single quotes.
func shellWords(command string) []string {
	quoted := false
	words := strings.FieldsFunc(command, func(c rune) bool {
		if c == '\'' {
			quoted = !quoted
		}
		return c == ' ' && !quoted
	})
	for i := range words {
		words[i] = strings.Trim(words[i], "'")
	}
	return words
}

// shape returns a JSON object with sorted members, and without the values that differ each time.
func shape(t *testing.T, text string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var blank func(v any) any
	blank = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Collect(maps.Keys(v)) {
				switch name {
				case "store", "address", "latency_ms", "started_by", "started_at", "expires_at":
					v[name] = "..."
				default:
					v[name] = blank(v[name])
				}
			}
		case []any:
			for i := range v {
				v[i] = blank(v[i])
			}
		}
		return v
	}
	return fmt.Sprint(blank(object))
}
