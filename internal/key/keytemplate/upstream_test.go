package keytemplate

import (
	_ "embed"
	"strconv"
	"strings"
	"testing"
)

// upstreamNames are names that the parsers of some upstreams read as a key. `make upstreams` writes
// this file.
//
//go:embed testdata/upstream_names.txt
var upstreamNames string

// upstreamValues are values that the parsers of some upstreams read as another value. `make upstreams`
// writes this file.
//
//go:embed testdata/upstream_values.txt
var upstreamValues string

// A name that some upstream reads as the key is found or ambiguous, alone and beside the key.
func TestUpstreamNames(t *testing.T) {
	names := 0
	for line := range strings.Lines(upstreamNames) {
		if line[0] == '#' {
			continue
		}
		names++
		fields := strings.SplitN(line, " ", 3)
		name, who := unquoted(t, fields[2])
		kind, key := fields[0], fields[1]
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

// A value that some upstream reads as another value counts as that other value, or is ambiguous.
func TestUpstreamValues(t *testing.T) {
	values, readers := 0, make(map[string]bool)
	for line := range strings.Lines(upstreamValues) {
		if line[0] == '#' {
			continue
		}
		values++
		kind, rest, _ := strings.Cut(line, " ")
		want, rest := unquoted(t, rest)
		text, who := unquoted(t, rest)
		r, repl := keyRequest("192.0.2.1")
		read := queryReader("key")
		switch kind {
		case "query":
			r.URL.RawQuery = "key=" + text
		case "cookie":
			r.Header["Cookie"], read, want = []string{"key=" + text}, cookieReader("key"), joined(want)
		case "header":
			r.Header["Key"], read = []string{text}, headerReader("key")
		}
		value, has := read(r, repl)
		if same := has == Present && value == want; !same && has != Ambiguous && has != AmbiguousCookie {
			t.Errorf("%s %q: %s reads it as %q, and it is %q, %v; want the same or ambiguous", kind, text, who, want, value, has)
		}
		for name := range strings.FieldsSeq(who) {
			readers[kind+" "+name] = true
		}
	}
	if values < 2000 {
		t.Errorf("the table has %d values, want 2000 or more", values)
	}
	for _, name := range []string{"cookie WebOb", "cookie Mojolicious", "cookie CGI", "header Tornado", "header Mojolicious", "query Tornado", "query PHP"} {
		if !readers[name] {
			t.Errorf("%s reads no value of the table", name)
		}
	}
}

// unquoted returns the quoted text with which s begins, without its quotes, and the rest of s.
func unquoted(t *testing.T, s string) (text, rest string) {
	t.Helper()
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		t.Fatalf("%v in %q", err, s)
	}
	text, _ = strconv.Unquote(quoted)
	return text, strings.TrimSpace(s[len(quoted):])
}
