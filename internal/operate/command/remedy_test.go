package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestAsCommands(t *testing.T) {
	for message, want := range map[string]string{
		`there is no entry "a": use GET /rate_limit/overrides to see which there are`: `there is no entry "a": use caddy rate-limit override list`,
		`the entry "a" is about the same already: use PATCH /rate_limit/tiers/a to change it, or DELETE it first`: `the entry "a" is ` +
			`about the same already: use caddy rate-limit tier change a, or remove it first`,
		`the body is not what is expected: expires_at: "x" is not valid: use an instant such as 2026-01-31T12:00:00Z. An example is {"a": 1}`: `expires_at: ` +
			`"x" is not valid: use an instant such as 2026-01-31T12:00:00Z, or --expires-in 24h`,
		`the body is not what is expected: unknown field "zonez": use "zones". An example is {"zones": {}}`: `unknown field "zonez": use "zones"`,
		`use POST /rate_limit/zones/user/inspect`:                                                           `use caddy rate-limit inspect user`,
		`use one such as "limit": "5000/1m" or "multiplier": 5; the limit block`:                            `use one such as --limit 5000/1m or --multiplier 5; the limit block`,
		`use "missing": true for those`:                                                                     `use --missing for those`,
		`limit: "5" is not a rate`:                                                                          `limit: "5" is not a rate`,
	} {
		if got := asCommands(message); got != want {
			t.Errorf("%s\nis\n%s\nwant\n%s", message, got, want)
		}
	}
	refused := runRefused(t, `{"error": "there is no entry \"x\": use GET /rate_limit/tiers to see which there are"}`, "tier", "show", "x")
	if want := `there is no entry "x": use caddy rate-limit tier list`; refused == nil || refused.Error() != want {
		t.Errorf("the error of a command = %v, want %s", refused, want)
	}
}

// Commands show the errors of package adminapi without the requests that these name.
func TestErrorsNameCommands(t *testing.T) {
	// These errors are about requests that no command sends.
	const unreachable = "content type|cannot be changed: use POST|in the query, and logs have queries|the method is|there is no %s: use one of %s"
	request := regexp.MustCompile(`/rate_limit/|\b(GET|PUT|POST|PATCH|DELETE)\b|If-Match|ETag`)
	files, err := filepath.Glob("../adminapi/*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			for _, argument := range call.Args {
				text := constantText(argument)
				if !strings.Contains(text, " ") || !request.MatchString(text) || regexp.MustCompile(unreachable).MatchString(text) {
					continue
				}
				seen++
				if got := asCommands(text); request.MatchString(got) {
					t.Errorf("%s: %q is %q for commands, which names a request", name, text, got)
				}
			}
			return true
		})
	}
	if seen < 10 {
		t.Errorf("messages with requests = %d, want 10 or more", seen)
	}
}

// constantText returns the text of literals that are added.
func constantText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return constantText(e.X) + constantText(e.Y)
	}
	return ""
}
