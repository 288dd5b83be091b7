package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// A destination is where a link of a page leads: a page or file, from root, and an anchor in it. The anchor
// may be "".
type destination struct{ link, path, anchor string }

// destinations returns where the links of a page lead in this repository.
func destinations(t *testing.T, page string) (all []destination) {
	t.Helper()
	_, prose := split(t, page)
	for _, match := range link.FindAllStringSubmatch(prose, -1) {
		name, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(name, "://") {
			continue
		}
		path := page
		if name != "" {
			path = filepath.Join(filepath.Dir(page), name)
		}
		all = append(all, destination{match[1], path, anchor})
	}
	return all
}

// TestLinks checks that the files and headings exist to which links of the pages lead in this repository. It
// does not use the network.
func TestLinks(t *testing.T) {
	followed := 0
	for _, page := range pages(t) {
		for _, to := range destinations(t, page) {
			followed++
			if _, err := os.Stat(filepath.Join(root, to.path)); err != nil {
				t.Errorf("%s links to %s: %v", page, to.link, err)
			} else if to.anchor != "" && !anchors(t, to.path)[to.anchor] {
				t.Errorf("%s links to %s: %s has no such heading", page, to.link, to.path)
			}
		}
	}
	if followed == 0 {
		t.Error("the pages have no links that could be followed")
	}
}

// TestEveryPageCanBeReached looks for a link from docs/README.md, the index, to each page below
// docs.
func TestEveryPageCanBeReached(t *testing.T) {
	indexed := make(map[string]bool)
	for _, to := range destinations(t, "docs/README.md") {
		indexed[to.path] = true
	}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") && page != "docs/README.md" && !indexed[page] {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

// named matches a page that a text names outside of a link.
var named = regexp.MustCompile(`docs/[A-Za-z/-]+\.md`)

// TestPagesThatTheCodeNamesExist checks that the pages exist that comments, messages and tests name.
func TestPagesThatTheCodeNamesExist(t *testing.T) {
	found := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || e.Name() == "node_modules" || strings.HasPrefix(e.Name(), ".") && path != root):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md" && e.Name() != "Makefile":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range named.FindAllString(string(text), -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s names %s: %v", path, name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("%d names of pages were found, want more", found)
	}
}

// anchors returns the anchors that GitHub makes of the headings of a page.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	_, prose := split(t, page)
	all := make(map[string]bool)
	for _, h := range heading.FindAllStringSubmatch(prose, -1) {
		anchor := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
				return c
			}
			return -1
		}, strings.ToLower(h[1]))
		all[anchor] = true
	}
	return all
}
