package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The package comment is a map of the files.
func TestPackageCommentNamesEveryFile(t *testing.T) {
	source, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "\npackage ")
	got := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`[a-z_]+\.go`).FindAllString(comment, -1))))
	files, _ := filepath.Glob("*.go")
	want := slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if !slices.Equal(got, want) {
		t.Errorf("files in the package comment =\n%v, want\n%v", got, want)
	}
}
