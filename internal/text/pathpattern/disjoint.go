package pathpattern

import "strings"

// Disjoint reports whether no path matches both patterns, which are in lower case. True is certain, and
// false may be a mistake. Slashes at the end of a path do not count.
func Disjoint(a, b string) bool {
	if unusual(a) || unusual(b) || strings.Contains(a+b, "{") {
		return false
	}
	startA, wildA := start(a)
	startB, wildB := start(b)
	switch {
	case !wildA && !wildB:
		return startA != startB
	case !wildA:
		return !strings.HasPrefix(startA+"/", startB)
	case !wildB:
		return !strings.HasPrefix(startB+"/", startA)
	}
	return !strings.HasPrefix(startA, startB) && !strings.HasPrefix(startB, startA)
}

// start returns the text with which all paths begin that match a pattern. more says that a path may go
// on behind that text.
func start(pattern string) (text string, more bool) {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		return pattern[:i], true
	}
	return strings.TrimRight(pattern, "/"), isScript(pattern)
}
