package pathreading

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReadingsOfUpstreams checks that the readings of a path include those of nginx, Tomcat, PHP,
// Symfony, Node and routers for Node. `make upstreams` has written those down.
func TestReadingsOfUpstreams(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream_paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	paths, refused := 0, 0
	readers := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		path, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if path == "#" || !strings.HasPrefix(path, "/") {
			continue
		}
		paths++
		p, err := Read(parse(t, path))
		if err != nil {
			refused++
			continue
		}
		readings := pathsOf(&p)
		for rest != "" {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			reading, _ := strconv.Unquote(quoted)
			var who string
			who, rest, _ = strings.Cut(rest[len(quoted)+1:], " ")
			for name := range strings.SplitSeq(who, ",") {
				readers[name]++
			}
			// Node's old parser ends a host at a semicolon or %. The rest then does not begin with a
			// slash, and is skipped. Tomcat keeps %25 beside %2f. h3 removes a slash from the end,
			// which endpoints ignore.
			reading = strings.ReplaceAll(strings.ToLower(reading), "%25", "%")
			known := slices.Contains(readings, reading) || who == "h3" && slices.Contains(readings, reading+"/")
			if strings.HasPrefix(reading, "/") && !known {
				t.Errorf("%s reads %s as %q, which is none of its readings %q", who, path, reading, readings)
			}
		}
	}
	if paths < 800 || refused > 10 {
		t.Errorf("%d paths, of which %d are refused, want 800 or more, and 10 or less", paths, refused)
	}
	for _, name := range []string{"nginx", "nginx-unmerged", "php", "tomcat", "tomcat-decode", "tomcat-passthrough", "node-url",
		"symfony-index.php", "symfony-app_dev.php", "fastify", "restify", "h3"} {
		if readers[name] < 150 {
			t.Errorf("%s reads %d paths, want 150 or more", name, readers[name])
		}
	}
}
