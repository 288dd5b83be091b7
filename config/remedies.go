package config

import (
	_ "embed"
	"strings"
)

//go:embed remedies.txt
var remediesText string

// remedies says what to use instead of a word that belongs to another block or program, by section
// and word. remedies.txt explains its sections.
var remedies = parseRemedies(remediesText)

// parseRemedies parses lines: the name of a section, a remedy after one tab, words after two.
func parseRemedies(text string) map[string]map[string]string {
	sections := make(map[string]map[string]string)
	var section map[string]string
	var remedy string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch words, isWords := strings.CutPrefix(line, "\t\t"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case isWords:
			for _, word := range strings.Fields(words) {
				section[word] = remedy
			}
		case line[0] == '\t':
			remedy = line[1:]
		default:
			section = make(map[string]string)
			sections[line] = section
		}
	}
	return sections
}
