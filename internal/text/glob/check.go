package glob

import (
	"fmt"
	"regexp"
	"strings"
)

// Check refuses patterns that were written in another syntax, and so would match other texts than
// it seems.
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

// Warning returns what is probably a mistake in a pattern, or "".
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

	// Keys may be addresses, hosts, paths, base64 and names such as auth0|7 or CORP\ann.
	regularExpression = regexp.MustCompile(`^\^|^/.*(\.\*|[\\^$(\[]).*/$|(^|[_:-])\.[*+]|\.\+$|\(.*\|.*\)|\(\?|^\\[dwsDWSb]|` +
		`\\[dwsDWS][+*{]|\\\.|\[\^?[A-Za-z0-9]-[A-Za-z0-9]`)
	letterDotStar = regexp.MustCompile(`[A-Za-z]\.\*$`)
)
