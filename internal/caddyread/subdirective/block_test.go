package subdirective

import (
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// The golden files in test/adapt have the error texts with file and line.

// dispenser returns the tokens of text. The first token is the current one.
func dispenser(t *testing.T, text string) *caddyfile.Dispenser {
	t.Helper()
	tokens, err := caddyfile.Tokenize([]byte(text), "Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	d := caddyfile.NewDispenser(tokens)
	d.Next()
	return d
}

// settings are the settings that the block of these tests has.
type settings struct {
	name    string
	words   []string
	on      bool
	n       int
	timeout caddy.Duration
	others  int
}

func (s *settings) read(d *caddyfile.Dispenser) error {
	return Block{
		Of: "test",
		Lines: map[string]Line{
			"name":    Text("name <text>", &s.name),
			"words":   {Usage: "words <text...>", Min: 1, Max: AnyNumber, Repeats: true, Parse: List(&s.words)},
			"on":      Flag("on", &s.on),
			"n":       Number("n", 1, AnyNumber, &s.n),
			"timeout": Duration("timeout", false, &s.timeout),
		},
		Other: &Line{Usage: "<word>", Min: 1, Max: 1, Parse: func([]string) error { s.others++; return nil }},
	}.Parse(d)
}

func TestRead(t *testing.T) {
	var s settings
	if err := s.read(dispenser(t, "test {\nname a\nwords b c\nwords d\non\nn 3\ntimeout 50ms\nelse\n}")); err != nil {
		t.Fatal(err)
	}
	if s.name != "a" || len(s.words) != 3 || !s.on || s.n != 3 || s.timeout != 50_000_000 || s.others != 1 {
		t.Errorf("settings = %+v", s)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"test", "test needs a block: use { at the end of this line, at Caddyfile:1"},
		{"test {\n}", "the block of test is empty: use at least one subdirective in it, or no block, at Caddyfile:2"},
		{"test {\nname\n}", "an argument is missing: use `name <text>`, with {$NAME:<default>} for a variable that may be unset, at Caddyfile:2"},
		{"test {\nname a\nname b\n}", "name is already specified at Caddyfile:2: use it once, at Caddyfile:3"},
		{"test {\nname \"\"\n}", "an argument is empty: use `name <text>`, at Caddyfile:2"},
		{"test {\non {\nx\n}\n}", "unexpected block: use `on` without one, at Caddyfile:2"},
		{"test {\nn 0\n}", `n is "0": use a whole number, 1 or more, at Caddyfile:2`},
		{"test {\ntimeout 0\n}", `timeout is "0": use a duration above 0 with its unit, such as 50ms, at Caddyfile:2`},
	} {
		var s settings
		if err := s.read(dispenser(t, test.text)); err == nil || err.Error() != test.want {
			t.Errorf("%q: error = %v, want %s", test.text, err, test.want)
		}
	}
}

func TestRemedy(t *testing.T) {
	b := Block{
		Lines:    map[string]Line{"limit": {}, "algorithm": {}, "max_keys": {}},
		Remedies: map[string]string{"burst": "use `limit`", "max_key": "use `zone`"},
	}
	for _, test := range []struct{ name, want string }{
		{"limits", "did you mean limit?"},
		{"lmit", "did you mean limit?"},
		{"maxkeys", "did you mean max_keys?"},
		{"algorytm", "did you mean algorithm?"},
		{"burst", "use `limit`"},
		{"Max-Key", "use `zone`"},
		{"rate", "use one of algorithm, limit, max_keys"},
		{"", "use one of algorithm, limit, max_keys"},
	} {
		if got := b.remedy(test.name); got != test.want {
			t.Errorf("remedy for %q = %q, want %q", test.name, got, test.want)
		}
	}
}
