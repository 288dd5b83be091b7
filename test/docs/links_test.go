package docs

import (
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

// TestLinks follows the links of the pages to files and headings of this repository. It does not
// use the network.
func TestLinks(t *testing.T) {
	followed := 0
	for _, page := range pages(t) {
		_, prose := split(t, page)
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			followed++
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s: %v", page, match[1], err)
				continue
			}
			if anchor != "" && !anchors(t, path)[anchor] {
				t.Errorf("%s links to %s: %s has no such heading", page, match[1], path)
			}
		}
	}
	if followed == 0 {
		t.Error("the pages have no links that could be followed")
	}
}

// anchors returns the anchors of the headings of a page, as GitHub makes them.
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
