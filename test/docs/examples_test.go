package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetlimit/fleetlimit"
)

// around has functions that complete an excerpt to a whole Caddyfile, by the word after `caddyfile` on the
// fence.
var around = map[string]func(text string) string{
	"":        func(text string) string { return text },
	"site":    func(text string) string { return ":8080 {\n" + text + "\nrespond ok\n}\n" },
	"handler": func(text string) string { return ":8080 {\nrate_limit {\n" + text + "\n}\nrespond ok\n}\n" },
	"global":  func(text string) string { return "{\nrate_limit {\n" + text + "\n}\n}\n:8080 {\nrespond ok\n}\n" },
}

// TestExamples adapts and validates every configuration in the pages, and Caddyfile.example.
// Caddyfiles stand there as caddy fmt writes them. The words after a fence classify the block:
//
//	caddyfile [site | handler | global]  a Caddyfile, or an excerpt of one
//	json config                          a whole configuration
//	json body                            not a configuration
func TestExamples(t *testing.T) {
	tested := make(map[string]int)
	for _, page := range append(pages(t), "Caddyfile.example") {
		examples := examplesOf(t, page)
		for _, e := range examples {
			if len(e.info) == 0 || e.info[0] != "caddyfile" && e.info[0] != "json" {
				continue
			}
			tested[page]++
			t.Run(fmt.Sprintf("%s:%d", e.page, e.line), func(t *testing.T) {
				switch {
				case e.info[0] == "caddyfile":
					checkFormat(t, &e)
					adapted := adapt(t, &e)
					if validate(t, adapted); len(e.info) == 1 {
						warnsAboutNothing(t, adapted)
					}
				case e.is("json", "config"):
					validate(t, []byte(e.text))
				case e.is("json", "body"):
					if !json.Valid([]byte(e.text)) {
						t.Errorf("not valid JSON:\n%s", e.text)
					}
				default:
					t.Errorf("the fence has %q: use one of the words in the comment of TestExamples", strings.Join(e.info, " "))
				}
			})
		}
	}
	for _, page := range []string{"README.md", "docs/configure/zones.md", "docs/configure/json.md", "docs/migrating.md"} {
		if tested[page] == 0 {
			t.Errorf("%s has no example that was tested: use the words of TestExamples after the fences", page)
		}
	}
}

// TestRecipeOfGRPC compares how the recipe answers gRPC calls with the Caddyfile that test/clients runs.
func TestRecipeOfGRPC(t *testing.T) {
	_, answer, _ := strings.Cut(read(t, "test/clients/Caddyfile"), "\t\t@grpc ")
	answer, _, found := strings.Cut(answer, "\n}\n")
	if !found || !strings.Contains(read(t, "docs/recipes.md"), "\n\t\t@grpc "+answer+"\n}\n") {
		t.Errorf("the recipe for gRPC in docs/recipes.md does not answer as test/clients/Caddyfile does:\n%s", answer)
	}
}

// examplesOf returns the fenced blocks of a page. A file that is no page is one example.
func examplesOf(t *testing.T, file string) []example {
	t.Helper()
	if !strings.HasSuffix(file, ".md") {
		return []example{{page: file, info: []string{"caddyfile"}, text: read(t, file)}}
	}
	examples, _ := split(t, file)
	return examples
}

// checkFormat compares a Caddyfile, or an excerpt of one, with what caddy fmt writes.
func checkFormat(t *testing.T, e *example) {
	t.Helper()
	want := string(caddyfile.Format([]byte(e.text)))
	if e.text == want {
		return
	}
	got, formatted := strings.Split(e.text, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(got), len(formatted))-1 && got[i] == formatted[i] {
		i++
	}
	t.Errorf("%s:%d is not formatted: use what caddy fmt writes.\n-%s\n+%s\nThe whole block:\n%s",
		e.page, e.line+1+i, got[i], formatted[i], want)
}

// adapt returns the JSON of a Caddyfile.
func adapt(t *testing.T, e *example) []byte {
	t.Helper()
	where := strings.Join(e.info[1:], " ")
	whole, known := around[where]
	if !known {
		t.Fatalf("the fence has %q: use site, handler or global, or nothing for a whole Caddyfile", where)
	}
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(whole(e.text)), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatalf("adapting: %v\n%s", err, e.text)
	}
	for _, w := range warnings {
		if !strings.Contains(w.Message, "not formatted") { // a completed excerpt is never formatted
			t.Errorf("adapting warns: %v", w)
		}
	}
	return adapted
}

// validate provisions a configuration as `caddy validate` does, with the environment variables of
// the pages set.
func validate(t *testing.T, config []byte) {
	t.Helper()
	t.Setenv("REDIS_PASSWORD", "secret")
	t.Setenv("SENTINEL_PASSWORD", "secret")
	t.Setenv("RULES_DATABASE_URL", "postgres://fleetlimit@localhost/fleetlimit")
	var c caddy.Config
	if err := caddy.StrictUnmarshalJSON(config, &c); err != nil {
		t.Fatalf("%v\n%s", err, config)
	}
	if err := caddy.Validate(&c); err != nil {
		t.Errorf("validating: %v\n%s", err, config)
	}
}

// warnsAboutNothing loads a whole configuration, and fails if that logs a warning.
func warnsAboutNothing(t *testing.T, config []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	c := decode(t, config).(map[string]any)
	c["logging"] = map[string]any{"logs": map[string]any{"default": map[string]any{
		"level": "WARN", "writer": map[string]any{"output": "file", "filename": path, "roll": false},
	}}}
	logging, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	validate(t, logging)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "is probably not what was meant") || strings.Contains(line, "has no effect") {
			t.Errorf("the log warns: %s", line)
		}
	}
}

// find returns the first object in a configuration for which is returns true.
func find(t *testing.T, config any, is func(map[string]any) bool) map[string]any {
	t.Helper()
	var walk func(v any) map[string]any
	walk = func(v any) map[string]any {
		var parts []any
		switch v := v.(type) {
		case map[string]any:
			if is(v) {
				return v
			}
			parts = slices.Collect(maps.Values(v))
		case []any:
			parts = v
		}
		for _, part := range parts {
			if found := walk(part); found != nil {
				return found
			}
		}
		return nil
	}
	found := walk(config)
	if found == nil {
		t.Fatalf("the configuration has no such object:\n%v", config)
	}
	return found
}

// handlerOf returns the rate_limit handler of a configuration.
func handlerOf(t *testing.T, config any) any {
	t.Helper()
	return find(t, config, func(m map[string]any) bool { return m["handler"] == "rate_limit" })
}

// appOf returns the rate_limit app of a configuration.
func appOf(t *testing.T, config any) any {
	t.Helper()
	return find(t, config, func(m map[string]any) bool { return m["rate_limit"] != nil && m["http"] != nil })["rate_limit"]
}

func decode(t *testing.T, config []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(config, &v); err != nil {
		t.Fatalf("%v\n%s", err, config)
	}
	return v
}

// compare compares a part of the configuration that a Caddyfile adapts to with its twin in a page. The twin
// may have texts in place of objects, and has no places.
func compare[Part any](t *testing.T, got, twin any) {
	t.Helper()
	removePlaces(got)
	g, w := canonical[Part](t, got), canonical[Part](t, twin)
	if !bytes.Equal(g, w) {
		t.Errorf("the Caddyfile becomes\n%s\nand the page has\n%s", g, w)
	}
}

// removePlaces removes the places in the Caddyfile from each part of a configuration.
func removePlaces(config any) {
	switch config := config.(type) {
	case map[string]any:
		delete(config, "place")
		for _, part := range config {
			removePlaces(part)
		}
	case []any:
		for _, part := range config {
			removePlaces(part)
		}
	}
}

// canonical returns a part of a configuration in the form in which it is marshalled.
func canonical[Part any](t *testing.T, object any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(parsePart[Part](t, object), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// parsePart returns a part of a configuration. Unknown fields are an error.
func parsePart[Part any](t *testing.T, object any) *Part {
	t.Helper()
	fields := maps.Clone(object.(map[string]any))
	delete(fields, "handler") // the name of the module, not a setting
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	part := new(Part)
	if err := caddy.StrictUnmarshalJSON(raw, part); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return part
}
