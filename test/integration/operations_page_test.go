package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const (
	operatePages = "../../docs/operate/"
	remotePage   = operatePages + "remote.md"
)

// TestCommandsOfPages runs the commands of the pages about the admin API in their order, and compares what
// they print with what the pages show: the same members, with the same values as far as these do not depend
// on the machine or the time.
func TestCommandsOfPages(t *testing.T) {
	redis := redistest.NewServer(t)
	g := newGateway(t)
	g.mustLoad(g.caddyfile("rate_limit {\nredis {\naddress "+redis.Addr+"\ntimeout 10s\n}\n}",
		"rate_limit_health /healthz live\nrate_limit_health /readyz\n"+
			zoneSite("limit 100/1m\ntier {header.X-Tier} trusted {\npro 1000/1m\n}")))
	t.Cleanup(func() { g.admin("DELETE", "/rate_limit/emergency", "").is(200) })
	redistest.Eventually(t, "what Redis says about itself", func() bool {
		return strings.Contains(g.admin("GET", "/rate_limit/health/ready", "").body, "memory_bytes")
	})
	ran := map[string]int{}
	shell := newShell(t)
	var commands []pageCommand
	for _, page := range []string{"api.md", "commands.md", "health.md", "emergency.md"} {
		commands = append(commands, pageCommands(t, operatePages+page)...)
	}
	for _, c := range commands {
		var got, want string
		stop := func() {}
		if showsTraffic.MatchString(c.command) {
			stop = g.exceedLimit("X-User: sk_live_3")
			for g.get("/", "X-User: sk_live_3").status != 429 {
			}
		}
		if needsRequests.MatchString(c.command) {
			stop = g.exceedLimit("X-User: sk_live_1")
			g.get("/", "X-User: sk_live_1")
		}
		if strings.HasPrefix(c.command, "curl ") {
			ran["curl"]++
			got, want = shape(t, g.curl(c.command).body), shape(t, c.output)
		} else {
			ran["caddy"]++
			got, want = tableShape(shell.run(c.command)), tableShape(c.output)
		}
		stop()
		if got != want {
			t.Errorf("%s\nprints   %s\nits page %s", c.command, got, want)
		}
	}
	if ran["curl"] < 22 || ran["caddy"] < 22 {
		t.Errorf("commands that ran = %v, want 22 or more of each program", ran)
	}
}

// exceedLimit sends requests with a header until stop is called.
func (g *gateway) exceedLimit(header string) (stop func()) {
	name, value, _ := strings.Cut(header, ": ")
	ctx, cancel := context.WithCancel(g.t.Context())
	var sending sync.WaitGroup
	sending.Go(func() {
		for ctx.Err() == nil {
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.addr+"/", nil)
			r.Header.Set(name, value)
			if resp, err := g.client.Do(r); err == nil {
				_ = resp.Body.Close()
			} else if ctx.Err() == nil {
				g.t.Error(err)
				return
			}
		}
	})
	return func() {
		cancel()
		sending.Wait()
	}
}

// A pageCommand is a command on a page, with the output that the page shows.
type pageCommand struct{ command, output string }

// pageCommands returns the commands of a page in their order.
func pageCommands(t *testing.T, name string) (commands []pageCommand) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	inside := false // the line is in the output of the last command
	for line := range strings.Lines(string(page)) {
		if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			commands, inside = append(commands, pageCommand{command: strings.TrimSpace(command)}), true
			continue
		}
		if inside = inside && !strings.HasPrefix(line, "```"); inside {
			commands[len(commands)-1].output += line
		}
	}
	return commands
}

// A curlCommand is a command of curl, with only the options that the pages need.
type curlCommand struct {
	method, url, body, cert string
	headers                 []string
}

func parseCurl(command string) curlCommand {
	c := curlCommand{method: "GET"}
	args := shellWords(command)[1:]
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch arg {
		case "-s", "-sN":
		case "-X":
			c.method, args = args[0], args[1:]
		case "-H":
			c.headers, args = append(c.headers, args[0]), args[1:]
		case "-d":
			c.body, args = args[0], args[1:]
			if c.method == "GET" {
				c.method = "POST"
			}
		case "--cert":
			c.cert, args = args[0], args[1:]
		case "--key", "--cacert":
			args = args[1:]
		default:
			c.url = arg
		}
	}
	if c.body != "" && !slices.Contains(c.headers, "Content-Type: application/json") {
		c.headers = append(c.headers, "Content-Type: application/x-www-form-urlencoded") // as curl does
	}
	return c
}

// curl sends the request of a command of curl.
func (g *gateway) curl(command string) *reply {
	g.t.Helper()
	c := parseCurl(command)
	if path, ofAdmin := strings.CutPrefix(c.url, "localhost:2019"); ofAdmin {
		r := g.admin(c.method, path, c.body, c.headers...)
		if r.status/100 != 2 {
			g.t.Errorf("%s = %d %s", command, r.status, r.body)
		}
		return r
	}
	path, ofSite := strings.CutPrefix(c.url, "localhost:8080")
	if !ofSite {
		g.t.Fatalf("the address in %q is neither that of the admin endpoint nor that of the site", command)
	}
	return g.request(c.method, path, c.headers...).is(200)
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

// shape returns JSON objects with sorted members, and with the values replaced that differ each time.
func shape(t *testing.T, text string) string {
	t.Helper()
	var objects []any
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		objects = append(objects, object)
	}
	var blank func(v any) any
	blank = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Collect(maps.Keys(v)) {
				switch name {
				case "store", "address", "latency_ms", "memory_bytes", "started_by", "started_at", "expires_at", "created_at", "created_by",
					"time", "author", "lineage", "reset_at", "wait", "host", "demand_per_second", "taken_per_second", "rejected_per_second",
					"utilisation":
					v[name] = "..."
				case "node":
					if _, isName := v[name].(string); isName {
						v[name] = "..."
					}
				default:
					v[name] = blank(v[name])
				}
			}
			if v["outcome"] != nil { // another source can decide the same
				v["source"] = "..."
			}
		case []any:
			for i := range v {
				v[i] = blank(v[i])
			}
		}
		return v
	}
	return fmt.Sprint(blank(objects))
}

var (
	// showsTraffic matches the commands that show what requests do.
	showsTraffic = regexp.MustCompile(`\b(decisions|top)\b`)

	// needsRequests matches the commands that warn about a key without requests.
	needsRequests = regexp.MustCompile(`^caddy rate-limit (override|tier) (add|change) `)
)

var (
	instantText = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`)
	addressText = regexp.MustCompile(`(localhost|127\.0\.0\.1):\d+|[\w.-]+@[\w.-]+`) // addresses, and users at machines
	waitText    = regexp.MustCompile(` \d+(\.\d+)?m?s `)
	gapText     = regexp.MustCompile(` +`)
	nodeText    = regexp.MustCompile(`(?m)^node +\S+$`)
	numberText  = regexp.MustCompile(`\b\d+\.\d+\b`)
	placeText   = regexp.MustCompile(`Caddyfile:\d+`)
)

// tableShape returns a table without its alignment, and with the values replaced that differ each time.
func tableShape(text string) string {
	text = addressText.ReplaceAllString(instantText.ReplaceAllString(text, "TIME"), "ADDRESS")
	text = placeText.ReplaceAllString(text, "PLACE")
	text = numberText.ReplaceAllString(nodeText.ReplaceAllString(text, "node NAME"), "NUMBER")
	text = gapText.ReplaceAllString(waitText.ReplaceAllString(text, " WAIT "), " ")
	return strings.TrimSpace(text)
}
