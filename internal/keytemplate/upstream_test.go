package keytemplate

import (
	_ "embed"
	"strconv"
	"strings"
	"testing"
)

// upstreamNames are names that parsers of upstreams read as a key. make upstreams writes them.
//
//go:embed testdata/upstream_names.txt
var upstreamNames string

// No name that some upstream reads as the key escapes it: neither instead of the key nor beside it.
func TestUpstreamNames(t *testing.T) {
	names := 0
	for line := range strings.Lines(upstreamNames) {
		if line[0] == '#' {
			continue
		}
		names++
		fields := strings.SplitN(line, " ", 3)
		quoted, err := strconv.QuotedPrefix(fields[2])
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		name, _ := strconv.Unquote(quoted)
		kind, key, who := fields[0], fields[1], strings.TrimSpace(fields[2][len(quoted):])
		r, repl := keyRequest("192.0.2.1")
		read := func(text string) (string, Presence) {
			if kind == "query" {
				r.URL.RawQuery = text
				return queryReader(key)(r, repl)
			}
			r.Header["Cookie"] = []string{strings.ReplaceAll(text, "&", ";")}
			return cookieReader(key)(r, repl)
		}
		ambiguous := map[string]Presence{"query": Ambiguous, "cookie": AmbiguousCookie}[kind]
		if value, has := read(name + "=v"); has != ambiguous && !(has == Present && value == "v") {
			t.Errorf("%s %q: %s reads it as %s, and its presence is %v, want %v", kind, name, who, key, has, ambiguous)
		}
		for _, text := range []string{key + "=fresh&" + name + "=v", name + "=v&" + key + "=fresh"} {
			if _, has := read(text); has != ambiguous {
				t.Errorf("%s %q: %s reads %s twice, and its presence is %v, want %v", kind, text, who, key, has, ambiguous)
			}
		}
	}
	if names < 2000 {
		t.Errorf("the table has %d names, want 2000 or more", names)
	}
}
