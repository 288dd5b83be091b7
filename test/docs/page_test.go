// Package docs tests the documentation: its examples are valid configurations, its links have targets, each
// page can be reached, and every setting and metric is in it.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// pages returns the paths, from root, of all pages: those at the top, and all below docs.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range all {
		if all[i], err = filepath.Rel(root, path); err != nil {
			t.Fatal(err)
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
	var indent string
	line := 0
	for text := range strings.Lines(read(t, page)) {
		line++
		info, fence := strings.CutPrefix(strings.TrimLeft(text, " "), "```")
		switch {
		case fence && open == nil:
			open = &example{page: page, line: line, info: strings.Fields(info)}
			indent = text[:strings.Index(text, "`")] // a block in a list is indented
		case fence:
			examples, open = append(examples, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(text, indent)
		default:
			b.WriteString(text)
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block has no end: use ``` on a line of its own", page, open.line)
	}
	return examples, b.String()
}

// TestPagesBeginWithTheAnswer checks that each page has one title, and that a paragraph follows it.
func TestPagesBeginWithTheAnswer(t *testing.T) {
	found := pages(t)
	if !slices.Contains(found, "docs/README.md") || !slices.Contains(found, "docs/configure/zones.md") {
		t.Fatalf("pages = %v: not all are found", found)
	}
	for _, page := range found {
		_, prose := split(t, page)
		lines := strings.SplitN(prose, "\n", 4)
		if len(lines) < 4 || !strings.HasPrefix(lines[0], "# ") || lines[1] != "" ||
			lines[2] == "" || strings.ContainsAny(lines[2][:1], "#-|1") {
			t.Errorf("%s begins with %q: use a title and a paragraph that answers it", page, lines[:min(len(lines), 3)])
		}
		if strings.Contains(strings.TrimPrefix(prose, "# "), "\n# ") {
			t.Errorf("%s has two titles: use one", page)
		}
	}
}

// longest bounds the lines of README.md, which people read before anything else.
const longest = 300

// TestLengths checks the length of README.md, and that the lines of prose fit on a screen.
func TestLengths(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n >= longest {
		t.Errorf("README.md has %d lines, want fewer than %d", n, longest)
	}
	for _, page := range pages(t) {
		_, prose := split(t, page)
		for line := range strings.Lines(prose) {
			line = strings.TrimSuffix(line, "\n")
			oneWord := !strings.Contains(strings.TrimLeft(line, " -*"), " ") // a line of one word, such as a link, cannot be wrapped
			if len([]rune(line)) > 100 && !strings.HasPrefix(strings.TrimSpace(line), "|") && !oneWord {
				t.Errorf("%s has a line of %d columns, want 100 at most:\n%s", page, len([]rune(line)), line)
			}
		}
	}
}
