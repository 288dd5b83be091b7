package pathpattern

import (
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/glob"
)

// Covers reports whether wide matches every path that narrow matches. Both patterns are in lower case,
// without slashes at the end. True is certain, and false may be a mistake.
func Covers(wide, narrow string) bool {
	if wide == narrow || wide == "*" {
		return true
	}
	if start, _ := start(wide); !strings.HasPrefix(narrow, start) {
		return false // nearly all pairs of endpoints end here
	}
	if unusual(wide) || unusual(narrow) {
		return false
	}
	if isScript(narrow) && !isScript(wide) && !(matchesSlashes(wide) && strings.HasSuffix(wide, "*")) {
		return false // narrow also matches paths that go on behind the script
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

// unusual reports whether a pattern has more than characters that match themselves, and wildcards.
func unusual(pattern string) bool {
	return strings.ContainsAny(pattern, `%[\;`) || strings.Contains(pattern, "//") ||
		matchesSlashes(pattern) && strings.Contains(pattern, "?")
}

// matchesSlashes reports whether a * in pattern also matches slashes. It does if the pattern has only
// one *, at its start or end, or only two, at its start and end. A ? matches itself in such a pattern.
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
