// Package adapt tests the Caddyfile grammar from outside, as `caddy adapt` and `caddy validate` use
// it.
//
// Each *.caddyfiletest file is one case: a Caddyfile, a line of ten hyphens, and the JSON
// configuration that the Caddyfile adapts to. If the name of the file begins with refuse_, it is
// the error instead. `go test ./test/adapt -update` rewrites the results.
package adapt

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetlimit/fleetlimit"
)

var update = flag.Bool("update", false, "rewrite the results in the files")

const separator = "\n----------\n"

func TestAdapt(t *testing.T) {
	files, err := filepath.Glob("*.caddyfiletest")
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := 0, 0
	for _, file := range files {
		refuse := strings.HasPrefix(file, "refuse_")
		if refuse {
			refused++
		} else {
			accepted++
		}
		t.Run(strings.TrimSuffix(file, ".caddyfiletest"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, found := strings.Cut(string(content), separator)
			if !found && !*update {
				t.Fatalf("the file has no line of ten hyphens")
			}
			got := adapt(t, input, refuse)
			if *update {
				text := strings.TrimRight(input, "\n") + separator + got + "\n"
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want = strings.TrimRight(want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
	if accepted < 20 || refused < 45 {
		t.Errorf("%d accepted and %d refused Caddyfiles were found, want 20 and 45 or more", accepted, refused)
	}
}

// adapt returns the result of adapting a Caddyfile. An accepted one must also load and be
// formatted.
func adapt(t *testing.T, input string, refuse bool) string {
	t.Helper()
	adapter, options := caddyconfig.GetAdapter("caddyfile"), map[string]any{"filename": "Caddyfile"}
	adapted, warnings, err := adapter.Adapt([]byte(input+"\n"), options)
	if refuse {
		if err == nil {
			t.Fatalf("accepted as:\n%s\nwant an error", adapted)
		}
		return err.Error()
	}
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	for _, w := range warnings {
		t.Errorf("warning: %v", w)
	}
	var config caddy.Config
	if err := caddy.StrictUnmarshalJSON(adapted, &config); err != nil {
		t.Fatal(err)
	}
	// A Caddyfile may be adapted on another machine than the one that runs it.
	t.Setenv("BLOCKED_ADDRESS", "192.0.2.66")
	t.Setenv("FLEETLIMIT_TEST_NODE", "a")
	t.Setenv("FLEETLIMIT_TEST_HOST", "192.0.2.6")
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "secret")
	if err := caddy.Validate(&config); err != nil {
		t.Errorf("does not load: %v", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, adapted, "", "\t"); err != nil {
		t.Fatal(err)
	}
	return indented.String()
}

// TestEverySubdirectiveIsAccepted checks that every subdirective that an error offers is in an
// accepted case.
func TestEverySubdirectiveIsAccepted(t *testing.T) {
	files, err := filepath.Glob("*.caddyfiletest")
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, file := range files {
		if strings.HasPrefix(file, "refuse_") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := strings.Cut(string(content), separator)
		for line := range strings.Lines(input) {
			if words := strings.Fields(line); len(words) > 0 {
				used[words[0]] = true
			}
		}
	}
	for _, name := range subdirectives(t) {
		if !used[name] {
			t.Errorf("no accepted Caddyfile has a line that begins with %s", name)
		}
	}
}

// subdirectives returns the subdirectives of all blocks, as the errors about unknown ones list
// them.
func subdirectives(t *testing.T) (names []string) {
	t.Helper()
	const zone = "rate_limit {\n zone z {\n key k\n limit 1/s\n %s\n }\n}"
	for block, text := range map[string]string{
		"rate_limit":  ":80\nrate_limit {\n unknown\n}",
		"zone":        ":80\n" + fmt.Sprintf(zone, "unknown"),
		"endpoint":    ":80\n" + fmt.Sprintf(zone, "endpoint / {\n unknown\n }"),
		"option":      "{\n rate_limit {\n unknown\n }\n}",
		"defaults":    "{\n rate_limit {\n defaults {\n unknown\n }\n }\n}",
		"redis":       "{\n rate_limit {\n redis {\n unknown\n }\n }\n}",
		"tls":         "{\n rate_limit {\n redis {\n tls {\n unknown\n }\n }\n }\n}",
		"distributed": ":80\nrate_limit {\n distributed {\n unknown\n }\n}",
	} {
		_, list, found := strings.Cut(adapt(t, text, true), ": use one of ")
		if !found {
			t.Errorf("%s: the error about an unknown subdirective lists none: %s", block, adapt(t, text, true))
		}
		list, _, _ = strings.Cut(list, ", at ")
		names = append(names, strings.Split(list, ", ")...)
	}
	return names
}
