package glob

import (
	"fmt"
	"regexp"
	"strings"
)

// Check returns an error if a pattern was written in another syntax, because it would match other texts
// than its author expects.
func Check(pattern string) error {
	switch {
	case placeholder.MatchString(pattern):
		return fmt.Errorf("%q has a placeholder, which patterns have not: use the text itself, or in a Caddyfile {$NAME} for "+
			"a variable of the environment", pattern)
	case alternatives.MatchString(pattern):
		return fmt.Errorf("%q has alternatives in braces: use one pattern for each", pattern)
	case regularExpression.MatchString(pattern):
		return fmt.Errorf("%q is a regular expression: use * for any text and ? for one character, as in sk_internal_*, and "+
			"one pattern for each alternative", pattern)
	}
	return nil
}

// Warning returns a text about a probable mistake in a pattern. It returns "" if there is none.
func Warning(pattern string) string {
	switch {
	case len(pattern) > 1 && strings.HasSuffix(pattern, "%") && !strings.ContainsAny(pattern, "*?"):
		return fmt.Sprintf("%q matches only with the %% at its end: use * for any text", pattern)
	case letterDotStar.MatchString(pattern):
		return fmt.Sprintf("%q matches a dot and then any text: use * alone for any text", pattern)
	case len(pattern) > 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/"):
		return fmt.Sprintf("%q matches only with its slashes: use it without them unless the key is a path", pattern)
	}
	return ""
}

var (
	placeholder  = regexp.MustCompile(`\{\$?[A-Za-z][\w-]*(\.[^{}]*|:[^{}]*)\}|\{\$\w+\}`)
	alternatives = regexp.MustCompile(`\{[^{}"]*,[^{}"]*\}`)

	// It matches no address, host, path, base64, or name such as auth0|7 or CORP\ann: those may be
	// keys.
	regularExpression = regexp.MustCompile(`^\^|^/.*(\.\*|[\\^$(\[]).*/$|(^|[_:-])\.[*+]|\.\+$|\(.*\|.*\)|\(\?|^\\[dwsDWSb]|` +
		`\\[dwsDWS][+*{]|\\\.|\[\^?[A-Za-z0-9]-[A-Za-z0-9]`)
	letterDotStar = regexp.MustCompile(`[A-Za-z]\.\*$`)
)
