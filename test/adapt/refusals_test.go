package adapt

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elsewhere are errors that no configuration of these tests can cause.
var elsewhere = []string{
	"named matchers are not known here: use `match { <matchers> }`", // in blocks of other modules
	"module %s is not a storage: use a module in caddy.storage",     // only a faulty module causes it
	"the rate is missing: use <events>/<window>, such as 100/1m",    // in rules
	"the configuration: %w: use the JSON that `caddy adapt` prints", // in plans
}

// TestEveryRefusalHasACase checks that every error in the source of the settings and of the grammar is the
// result of a case.
func TestEveryRefusalHasACase(t *testing.T) {
	var errors strings.Builder
	for _, file := range goldenFiles(t) {
		for _, c := range readCases(t, file) {
			if c.refused {
				errors.WriteString(c.result)
			}
		}
	}
	found := 0
	for _, pattern := range []string{"../../config/*.go", "../../internal/caddyread/subdirective/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "warnings.go" || filepath.Base(file) == "importargs.go" {
				continue // a warning refuses nothing, and arguments of import need a file: config tests them
			}
			for _, text := range refusalsIn(t, file) {
				found++
				if !regexp.MustCompile(text).MatchString(errors.String()) {
					t.Errorf("%s: no case has the error %s", filepath.Base(file), text)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d errors were found in the source, want 100 or more", found)
	}
}

// refusalsIn returns the errors that the functions in a file make, as regular expressions.
func refusalsIn(t *testing.T, file string) (texts []string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Errf" || f.Sel.Name == "Errorf" || f.Sel.Name == "New") {
			if text := textOf(call.Args[0]); text != "" && !slices.Contains(elsewhere, text) {
				texts = append(texts, pattern(text))
			}
		}
		return true
	})
	return texts
}

// textOf returns the constant text of an expression, "" if it is none.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return ""
}

// pattern returns a regular expression for what a format of package fmt can become.
func pattern(format string) string {
	parts := verb.Split(strings.ReplaceAll(format, "%%", "%"), -1)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return strings.Join(parts, ".+")
}

// verb matches a verb of a format.
var verb = regexp.MustCompile(`%(\[\d\])?[a-z]`)
