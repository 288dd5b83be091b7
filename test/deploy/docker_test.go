package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// An instruction is a line of a Dockerfile.
type instruction struct{ name, args string }

// instructions returns the instructions of a Dockerfile.
func instructions(text string) (all []instruction) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		if name, args, found := strings.Cut(strings.TrimSpace(line), " "); found && !strings.HasPrefix(name, "#") {
			all = append(all, instruction{name, args})
		}
	}
	return all
}

var (
	pinned = regexp.MustCompile(`^\S+:v?\d+\.\d+\.\d+\S*( AS \w+)?$`)
	user   = regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`)
)

// known are the instructions that the tests can check.
var known = []string{"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"}

// problems returns what is wrong with a Dockerfile whose context is the folder root.
func problems(text string) (found []string) {
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	stages := make(map[string]bool)
	last := make(map[string]string) // the arguments of the last instruction of each name, in the last stage
	base := ""
	for _, i := range instructions(text) {
		if !slices.Contains(known, i.name) {
			report("%s is no instruction", i.name)
		}
		words := strings.Fields(i.args)
		switch i.name {
		case "FROM":
			clear(last)
			if base = words[0]; base != "scratch" && !pinned.MatchString(i.args) {
				report("%s is not pinned to a version", base)
			}
			if len(words) == 3 {
				stages[words[2]] = true
			}
		case "COPY":
			if from, isStage := strings.CutPrefix(words[0], "--from="); isStage {
				if !stages[from] {
					report("there is no stage %s", from)
				}
				break
			}
			for _, source := range words[:len(words)-1] {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil {
					report("COPY of %s: %v", source, err)
				}
			}
		}
		last[i.name] = i.args
	}
	if base != "scratch" {
		report("the last stage begins with %s, want scratch", base)
	}
	if !user.MatchString(last["USER"]) {
		report("the program runs as %q, want numbers of a user and a group other than root", last["USER"])
	}
	for _, name := range []string{"ENTRYPOINT", "CMD"} {
		if json.Unmarshal([]byte(last[name]), new([]string)) != nil {
			report("%s is %q: use a list, because there is no shell", name, last[name])
		}
	}
	if healthcheck(last["HEALTHCHECK"]) == nil {
		report("HEALTHCHECK is %q: use a list, because there is no shell", last["HEALTHCHECK"])
	}
	return found
}

// healthcheck returns the command of a HEALTHCHECK, nil if it is not written as a list.
func healthcheck(args string) (command []string) {
	_, list, _ := strings.Cut(args, "CMD ")
	_ = json.Unmarshal([]byte(list), &command) // an error leaves it nil
	return command
}

// imageCheck returns the command of the health check of the image.
func imageCheck(t *testing.T) []string {
	t.Helper()
	all := instructions(read(t, folder+"docker/Dockerfile"))
	return healthcheck(all[slices.IndexFunc(all, func(i instruction) bool { return i.name == "HEALTHCHECK" })].args)
}

func TestDockerfile(t *testing.T) {
	text := read(t, folder+"docker/Dockerfile")
	for _, problem := range problems(text) {
		t.Error(problem)
	}
	for _, plant := range []struct{ old, new, problem string }{
		{"FROM golang:1.26.0-bookworm", "FROM golang:latest", "is not pinned"},
		{"FROM scratch", "FROM debian:12.1.0", "want scratch"},
		{"--from=build /out/caddy", "--from=builder /out/caddy", "no stage builder"},
		{"COPY go.mod go.sum", "COPY go.mod go.lock", "COPY of go.lock"},
		{"USER 65532:65532", "USER root", "runs as"},
		{"USER 65532:65532\n", "", "runs as"},
		{`ENTRYPOINT ["caddy"]`, "ENTRYPOINT caddy", "because there is no shell"},
		{"HEALTHCHECK", "HEALTHCHEK", "is no instruction"},
		{`CMD ["caddy", "rate-limit"`, `CMD curl localhost # "`, "HEALTHCHECK is"},
	} {
		if !strings.Contains(text, plant.old) {
			t.Errorf("the Dockerfile has no %q", plant.old)
		}
		found := problems(strings.Replace(text, plant.old, plant.new, 1))
		if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, plant.problem) }) {
			t.Errorf("with %q in place of %q, the problems are %q, want %q", plant.new, plant.old, found, plant.problem)
		}
	}
	needs := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, root+"/go.mod"))[1]
	if !strings.Contains(text, "FROM golang:"+needs) {
		t.Errorf("the Dockerfile does not build with Go %s, which go.mod needs", needs)
	}
	caddyfile := read(t, folder+"docker/Caddyfile")
	if exposed := strings.Join(ports(caddyfile), " "); !strings.Contains(text, "EXPOSE "+exposed+"\n") {
		t.Errorf("the Dockerfile does not expose %s, at which its Caddyfile listens", exposed)
	}
}

// TestImage runs the Caddyfile of the image, and its health check: while Redis runs, while Redis is dead, and
// without a Caddy.
func TestImage(t *testing.T) {
	caddyfile := read(t, folder+"docker/Caddyfile")
	g := serve(t, caddyfile)
	checkGateway(t, g, caddyfile)
	check := imageCheck(t)
	healthy := func(when string) {
		t.Helper()
		if out, err := g.run(check[1:]...); err != nil {
			t.Errorf("the health check %q %s: %v\n%s", check, when, err, out)
		}
	}
	healthy("with Redis")
	g.redis.Kill()
	redistest.Eventually(t, "a node that is not ready", func() bool {
		_, err := g.run("rate-limit", "health", "--probe", "ready")
		return err != nil
	})
	healthy("while Redis is dead")
	if out, err := (&gateway{binary: g.binary, admin: "127.0.0.1:1"}).run(check[1:]...); err == nil {
		t.Errorf("the health check %q succeeds without a Caddy: %s", check, out)
	}
}

// checkGateway asks a gateway for its probes and its metrics.
func checkGateway(t *testing.T, g *gateway, caddyfile string) {
	t.Helper()
	get := func(url string) (status int, body string) {
		t.Helper()
		var resp *http.Response
		redistest.Eventually(t, url+" listens", func() (listens bool) { // the sites begin to listen one after the other
			var err error
			resp, err = http.Get("http://" + url)
			return err == nil
		})
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	probes := probe.FindAllStringSubmatch(caddyfile, -1)
	if len(probes) != 3 {
		t.Errorf("probes = %v, want three", probes)
	}
	for _, p := range probes {
		if status, body := get(g.site + p[1]); p[2] != "" && status != 200 {
			t.Errorf("%s = %d %s, want 200", p[1], status, body)
		}
	}
	if status, body := get(g.metrics + "/metrics"); status != 200 || !strings.Contains(body, "\ncaddy_rate_limit_decisions_total{") {
		t.Errorf("metrics = %d, want 200 and those of this plugin:\n%.300s", status, body)
	}
}
