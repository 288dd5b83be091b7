// Package adapt tests the Caddyfile grammar from outside, as `caddy adapt` and `caddy validate` use it.
//
// Each file in testdata has the cases of a subdirective or block. A case is a Caddyfile, <case>.caddyfile,
// and after it what the Caddyfile adapts to, <case>.json, or the error, <case>.error. In place of a Caddyfile
// there may be the JSON of a handler, <case>.handler, or of the app, <case>.app. `go test ./test/adapt
// -golden.write` rewrites the results, and adds one to a case that has none.
package adapt

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"golang.org/x/tools/txtar"

	_ "github.com/fleetlimit/fleetlimit"
)

var writeGolden = flag.Bool("golden.write", false, "write the results to testdata")

// A goldenCase is a configuration and its result.
type goldenCase struct {
	name    string
	kind    string // ".caddyfile", ".handler" or ".app"
	text    string // the configuration
	refused bool
	result  string // the error, or the JSON; "" if it is still to be written
}

func TestAdapt(t *testing.T) {
	// A Caddyfile may be adapted on another machine than the one that runs it.
	t.Setenv("BLOCKED_ADDRESS", "192.0.2.66")
	t.Setenv("FLEETLIMIT_TEST_NODE", "a")
	t.Setenv("FLEETLIMIT_TEST_HOST", "192.0.2.6")
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "secret")
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := &txtar.Archive{}
			for _, c := range readCases(t, file) {
				t.Run(c.name, func(t *testing.T) {
					c.test(t)
				})
				archive.Files = append(archive.Files, c.files()...)
			}
			if *writeGolden && !t.Failed() {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("files in testdata: %v, %v", files, err)
	}
	return files
}

// readCases returns the cases in a file.
func readCases(t *testing.T, file string) (cases []*goldenCase) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		ext := filepath.Ext(f.Name)
		name := strings.TrimSuffix(f.Name, ext)
		if ext != ".json" && ext != ".error" {
			cases = append(cases, &goldenCase{name: name, kind: ext, text: string(f.Data)})
			continue
		}
		if len(cases) == 0 || cases[len(cases)-1].name != name {
			t.Fatalf("%s: %s does not follow its configuration", file, f.Name)
		}
		c := cases[len(cases)-1]
		c.refused, c.result = ext == ".error", string(f.Data)
	}
	return cases
}

// files returns the files of c in an archive.
func (c *goldenCase) files() []txtar.File {
	ext := ".json"
	if c.refused {
		ext = ".error"
	}
	return []txtar.File{{Name: c.name + c.kind, Data: []byte(c.text)}, {Name: c.name + ext, Data: []byte(c.result)}}
}

// test compares the result of c with the one in the file, or writes the result to c. It never writes the
// result of an accepted configuration to a case that was refused, nor the other way round.
func (c *goldenCase) test(t *testing.T) {
	t.Helper()
	config, err := c.load(t)
	if *writeGolden && c.result == "" {
		c.refused = err != nil
	}
	got := ""
	switch {
	case c.refused && err == nil:
		t.Fatalf("accepted as:\n%s\nwant an error", config)
	case c.refused:
		got = err.Error() + "\n"
	case err != nil:
		t.Fatalf("refused: %v", err)
	default:
		got = layOut(t, config)
	}
	if *writeGolden {
		c.result = got
	} else if got != c.result {
		t.Errorf("got:\n%s\nwant:\n%s", got, c.result)
	}
}

// load returns the whole configuration in JSON, after it has been provisioned as by `caddy
// validate`.
func (c *goldenCase) load(t *testing.T) (config []byte, err error) {
	t.Helper()
	switch c.kind {
	case ".caddyfile":
		if config, err = adapt(t, c.text); err != nil {
			return nil, err
		}
	case ".handler":
		config = []byte(`{"apps":{"http":{"servers":{"srv0":{"routes":[{"handle":[` + c.text + `]}]}}}}}`)
	case ".app":
		config = []byte(`{"apps":{"rate_limit":` + c.text + `}}`)
	default:
		t.Fatalf("%s%s is no configuration: use %[1]s.caddyfile, .handler or .app", c.name, c.kind)
	}
	loaded := new(caddy.Config)
	if err := caddy.StrictUnmarshalJSON(config, loaded); err != nil {
		t.Fatal(err)
	}
	return config, caddy.Validate(loaded)
}

// adapt returns the result of adapting a Caddyfile, which must be formatted if it is accepted.
func adapt(t *testing.T, caddyfile string) ([]byte, error) {
	t.Helper()
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), map[string]any{"filename": "Caddyfile"})
	if err == nil {
		for _, w := range warnings {
			t.Errorf("warning: %v", w)
		}
	}
	return adapted, err
}

// layOut returns JSON in which each value that fits on a line is on one line.
func layOut(t *testing.T, data []byte) string {
	t.Helper()
	var b strings.Builder
	layOutValue(t, &b, data, "")
	return b.String() + "\n"
}

// layOutValue writes a compact JSON value that begins after indent.
func layOutValue(t *testing.T, b *strings.Builder, data json.RawMessage, indent string) {
	t.Helper()
	const width = 100
	if len(indent)+len(data) <= width || data[0] != '{' && data[0] != '[' {
		b.Write(data)
		return
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	b.WriteByte(data[0])
	open, _ := d.Token()
	separator := "\n"
	for d.More() {
		b.WriteString(separator + indent + "\t")
		separator = ",\n"
		if open == json.Delim('{') {
			name, _ := d.Token()
			text, _ := json.Marshal(name)
			b.WriteString(string(text) + ": ")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		layOutValue(t, b, value, indent+"\t")
	}
	b.WriteString("\n" + indent + map[json.Token]string{json.Delim('{'): "}", json.Delim('['): "]"}[open])
}
