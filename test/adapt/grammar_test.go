package adapt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEverySubdirectiveHasExamples checks that every subdirective of every block is in an accepted case, and
// is the place of the mistake in a refused case.
func TestEverySubdirectiveHasExamples(t *testing.T) {
	accepted, refused := make(map[string]bool), make(map[string]bool)
	for _, file := range goldenFiles(t) {
		for _, c := range readCases(t, file) {
			if c.kind != ".caddyfile" {
				continue
			}
			places := placesOf(c.text)
			if !c.refused {
				for _, place := range places {
					accepted[place] = true
				}
				continue
			}
			at := mistakeAt.FindStringSubmatch(c.result)
			if at == nil {
				t.Errorf("%s: the error of %s names no line: %s", file, c.name, c.result)
				continue
			}
			line, _ := strconv.Atoi(at[1])
			refused[places[line-1]] = true
		}
	}
	for _, place := range grammar(t) {
		if !accepted[place] {
			t.Errorf("no accepted case has %s", place)
		}
		if !refused[place] {
			t.Errorf("no case is refused because of %s", place)
		}
	}
}

// mistakeAt matches the line of the mistake at the end of an error.
var mistakeAt = regexp.MustCompile(`, at Caddyfile:(\d+)\n$`)

// placesOf returns, for each line of a Caddyfile, the block around the line and the first word of the line.
func placesOf(caddyfile string) (places []string) {
	blocks := []string{""} // the blocks around the line, the innermost last
	for line := range strings.Lines(caddyfile) {
		words := strings.Fields(line)
		if len(words) == 0 {
			words = []string{""}
		}
		if words[0] == "}" {
			blocks = blocks[:len(blocks)-1]
		}
		around := blocks[len(blocks)-1]
		places = append(places, around+" "+words[0])
		if words[len(words)-1] == "{" {
			blocks = append(blocks, blockOf(around, words[0]))
		}
	}
	return places
}

// blockOf returns the name of the block that opens after a word.
func blockOf(around, word string) string {
	switch {
	case around == "option" && word == "tier", around == "tier":
		return "enforcement"
	case around == "{" && word == "rate_limit":
		return "option"
	case word == "rate_limit_authenticated":
		return "rate_limit"
	}
	return word
}

// grammar returns all subdirectives with their blocks, as the errors about unknown ones list them.
func grammar(t *testing.T) []string {
	t.Helper()
	const zone = ":80\nrate_limit {\n zone z {\n key k\n limit 1/s\n %s\n }\n}"
	const option = "{\n rate_limit {\n %s\n }\n}"
	places := []string{"tier keys", "tier default"} // in these blocks, an unknown word is a tier
	for block, text := range map[string]string{
		"rate_limit":      ":80\nrate_limit {\n unknown\n}",
		"rate_limit_page": ":80\nrate_limit_page {\n unknown\n}",
		"distributed":     ":80\nrate_limit {\n distributed {\n unknown\n }\n}",
		"zone":            fmt.Sprintf(zone, "unknown"),
		"compare":         fmt.Sprintf(zone, "compare {\n unknown\n }"),
		"endpoint":        fmt.Sprintf(zone, "endpoint / {\n unknown\n }"),
		"option":          fmt.Sprintf(option, "unknown"),
		"defaults":        fmt.Sprintf(option, "defaults {\n unknown\n }"),
		"breaker":         fmt.Sprintf(option, "breaker {\n unknown\n }"),
		"enforcement":     fmt.Sprintf(option, "tier pro 1/s {\n unknown\n }"),
		"redis":           fmt.Sprintf(option, "redis {\n unknown\n }"),
		"tls":             fmt.Sprintf(option, "redis {\n tls {\n unknown\n }\n }"),
	} {
		_, err := adapt(t, text)
		_, list, found := strings.Cut(fmt.Sprint(err), ": use one of ")
		if !found {
			t.Errorf("%s: the error about an unknown subdirective lists none: %v", block, err)
		}
		list, _, _ = strings.Cut(list, ", at ")
		for name := range strings.SplitSeq(list, ", ") {
			places = append(places, block+" "+name)
		}
	}
	slices.Sort(places)
	return places
}
