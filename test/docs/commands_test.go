package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// response finds a Content-Length in a page, and the one line of the body.
var response = regexp.MustCompile(`(?m)^Content-Length: (\d+)\n(?:.+\n)*\n(.+\n)`)

// TestResponsesAreWhole compares the lengths of bodies with the headers in front of them.
func TestResponsesAreWhole(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, match := range response.FindAllStringSubmatch(read(t, page), -1) {
			found++
			length, _ := strconv.Atoi(match[1])
			if body := match[2]; length != len(body) && length != len(body)-1 { // a text may lack the last line break
				t.Errorf("%s: Content-Length is %d, but %q has %d bytes", page, length, body, len(body))
			}
		}
	}
	if found == 0 {
		t.Error("no page has a response with a body")
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
