// Package docs tests the documentation: its examples are valid configurations, its links have
// targets, and it has every setting.
package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the directory of the module.
const root = "../.."

// An example is a fenced block of a page.
type example struct {
	page string
	line int // of the fence, from 1
	info []string
	text string
}

// is reports whether these are the words after the fence.
func (e *example) is(info ...string) bool {
	return strings.Join(e.info, " ") == strings.Join(info, " ")
}

// pages returns the paths, from root, of all pages.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			page, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, page)
		}
	}
	return all
}

// read returns the text of a page.
func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// split returns the fenced blocks of a page, and its prose without them.
func split(t *testing.T, page string) (examples []example, prose string) {
	t.Helper()
	var b strings.Builder
	var open *example
	line := 0
	for text := range strings.Lines(read(t, page)) {
		line++
		info, fence := strings.CutPrefix(text, "```")
		switch {
		case fence && open == nil:
			open = &example{page: page, line: line, info: strings.Fields(info)}
		case fence:
			examples, open = append(examples, *open), nil
		case open != nil:
			open.text += text
		default:
			b.WriteString(text)
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block has no end: use ``` on a line of its own", page, open.line)
	}
	return examples, b.String()
}
