package pathpattern

import (
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/glob"
)

// Covers reports whether wide matches every path that narrow matches. Both are patterns in lower
// case, without slashes at their end. It is certain when it says so.
func Covers(wide, narrow string) bool {
	if wide == narrow || wide == "*" {
		return true
	}
	if start, _ := start(wide); !strings.HasPrefix(narrow, start) {
		return false // as nearly all of many endpoints, which are compared with each other
	}
	if unusual(wide) || unusual(narrow) {
		return false
	}
	if isScript(narrow) && !isScript(wide) && !(matchesSlashes(wide) && strings.HasSuffix(wide, "*")) {
		return false // what is behind the script
	}
	if matchesSlashes(wide) {
		return glob.Covers(wide, narrow)
	}
	if matchesSlashes(narrow) {
		return false
	}
	w, n := strings.Split(wide, "/"), strings.Split(narrow, "/")
	if len(w) != len(n) {
		return false
	}
	for i := range w {
		if !glob.Covers(w[i], n[i]) {
			return false
		}
	}
	return true
}

// unusual reports whether a pattern is matched in another way than by its characters and wildcards.
func unusual(pattern string) bool {
	return strings.ContainsAny(pattern, `%[\;`) || strings.Contains(pattern, "//") ||
		matchesSlashes(pattern) && strings.Contains(pattern, "?")
}

// matchesSlashes reports whether the * of a pattern also match slashes: if it has only one * that
// is at its start or end, or only two that are at both. ? is a character of its own there.
func matchesSlashes(pattern string) bool {
	starts, ends := strings.HasPrefix(pattern, "*"), strings.HasSuffix(pattern, "*")
	switch strings.Count(pattern, "*") {
	case 1:
		return starts || ends
	case 2:
		return starts && ends
	}
	return false
}
