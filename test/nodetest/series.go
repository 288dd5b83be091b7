package nodetest

import (
	"slices"
	"strings"
)

// Matches reports whether a series, as a server writes it, has the name and the labels of wanted, for example
// name{label="value"}. The series may have more labels.
func Matches(series, wanted string) bool {
	name, labels := split(series)
	wantedName, wantedLabels := split(wanted)
	return name == wantedName && !slices.ContainsFunc(wantedLabels, func(l string) bool { return !slices.Contains(labels, l) })
}

// split returns the name and the labels of a series. No value of a label has a comma.
func split(series string) (name string, labels []string) {
	name, rest, found := strings.Cut(series, "{")
	if found {
		labels = strings.Split(strings.TrimSuffix(rest, "}"), ",")
	}
	return name, labels
}
