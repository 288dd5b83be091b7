package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goTest = regexp.MustCompile("`go test -run ([A-Za-z]+) \\./([a-z/]+)")
	goRun  = regexp.MustCompile("`cd bench && go run \\./([a-z/]+)")
	target = regexp.MustCompile("`make ([a-z-]+)")
)

// TestCommands looks for what the commands in the pages run: tests, programs and make targets.
func TestCommands(t *testing.T) {
	makefile := "\n" + read(t, "Makefile")
	found := map[*regexp.Regexp]int{}
	for _, page := range pages(t) {
		text := strings.Join(strings.Fields(read(t, page)), " ") // a command may be on two lines
		for _, match := range goTest.FindAllStringSubmatch(text, -1) {
			found[goTest]++
			if name := regexp.MustCompile(`(?m)^func Test\w*` + strings.TrimPrefix(match[1], "Test")); !hasTest(t, match[2], name) {
				t.Errorf("%s has %s`: no test in %s has this name", page, match[0], match[2])
			}
		}
		for _, match := range goRun.FindAllStringSubmatch(text, -1) {
			found[goRun]++
			if _, err := os.Stat(filepath.Join(root, "bench", match[1], "main.go")); err != nil {
				t.Errorf("%s has %s`: %v", page, match[0], err)
			}
		}
		for _, match := range target.FindAllStringSubmatch(text, -1) {
			found[target]++
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s has %s`: Makefile has no such target", page, match[0])
			}
		}
	}
	for _, kind := range []*regexp.Regexp{goTest, goRun, target} {
		if found[kind] == 0 {
			t.Errorf("no page has a command like %s", kind)
		}
	}
}

// hasTest reports whether a folder has a test of this name.
func hasTest(t *testing.T, folder string, name *regexp.Regexp) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name.Match(text) {
			return true
		}
	}
	return false
}
