// Package pathpattern analyzes patterns of Caddy's path matcher, and finds the readings of a request's
// path that a pattern matches: see [Path].
package pathpattern

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Starts reports whether s begins as a pattern must.
func Starts(s string) bool { return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "*") }

// Check returns an error if a pattern never matches, or does not match what its author expects.
// Examples are regular expressions, and patterns of other routers.
func Check(pattern string) error {
	switch {
	case strings.Contains(pattern, "://"):
		_, rest, _ := strings.Cut(pattern, "://")
		_, rest, _ = strings.Cut(rest, "/")
		return fmt.Errorf("path %q has a scheme and a host: use /%s, and `host` in the zone's `match`", pattern, rest)
	case strings.HasPrefix(pattern, "^"), strings.HasPrefix(pattern, "~"):
		return fmt.Errorf("path %q is a regular expression: use a path with * for the parts that differ, as in /users/*/posts",
			pattern)
	case !Starts(pattern):
		return fmt.Errorf("path %q starts with neither / nor *: use one such as /search, /users/* or *.json", pattern)
	}
	for _, m := range mistakes {
		if !m.found.MatchString(pattern) {
			continue
		}
		remedy := m.remedy
		if m.repair {
			remedy += " " + m.found.ReplaceAllLiteralString(pattern, m.instead)
		}
		return fmt.Errorf("path %q %s: %s", pattern, m.what, remedy)
	}
	if matchesSlashes(pattern) && strings.ContainsAny(pattern, `?\[`) {
		return fmt.Errorf(`path %q has "?", "[" or "\", which are nothing special beside a * at the start or end: use * `+
			"for the parts that differ", pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf(`path %q has an incomplete "[" or "\": use "]" to close it, or *`, pattern)
	}
	return nil
}

// A mistake describes patterns that were written for another program.
type mistake struct {
	found        *regexp.Regexp
	what, remedy string
	repair       bool   // the remedy ends with the pattern in which instead replaces found
	instead      string // "" to remove found
}

var mistakes = []mistake{
	{
		found:  regexp.MustCompile(`[|]|\.\*\)|\.\+|\][+{]|\\[A-Za-z0-9]|[^*]/\.\*$|\.\*\$|\$$|\(\?`),
		what:   "is a regular expression",
		remedy: "use a path with * for the parts that differ, and one `endpoint` for each alternative",
	}, {
		found:  regexp.MustCompile(`\{|\}|<|>|/:[A-Za-z_]|/\[\.*[A-Za-z_]{2,}\]`),
		what:   "has a named part in braces or after a colon",
		remedy: "use * for the parts that differ, as in /users/*/posts",
	}, {
		found:  regexp.MustCompile(`#.*`),
		what:   "has a fragment, which clients do not send",
		remedy: "use %23 for the character, or",
		repair: true,
	}, {
		found:  regexp.MustCompile(`\?([^/.?].*)?$`),
		what:   "has a query, which no path has",
		remedy: "use * for a character that differs, `query` in the zone's `match` for a query, or",
		repair: true,
	}, {
		found:   regexp.MustCompile(`\*\*+(/\*+)?`),
		what:    "has two * in a row, which mean one",
		remedy:  "use",
		repair:  true,
		instead: "*",
	}, {
		found:  regexp.MustCompile(`/\.\.?(/|$)`),
		what:   "has . or .. as a part, which cleaned paths have not",
		remedy: "use it without",
	}, {
		found:  regexp.MustCompile(`,/`),
		what:   "has several paths",
		remedy: "use one `endpoint` for each",
	}, {
		found:  regexp.MustCompile(`%([^0-9A-Fa-f*]|[0-9A-Fa-f]([^0-9A-Fa-f]|$)|$)`),
		what:   "has a % that begins no character such as %20",
		remedy: "use %25 for the character, or * for the parts that differ",
	},
}

// Warning returns a text about a pattern that probably matches other paths than its author meant. It
// returns "" for other patterns.
func Warning(pattern string) string {
	switch {
	case pattern == "/.*":
		return "path \"/.*\" matches only paths whose first part begins with a dot: use * for all paths"
	case strings.Contains(pattern, "//"):
		return fmt.Sprintf("path %q matches only paths with two slashes in a row: use one for the others", pattern)
	}
	return ""
}
