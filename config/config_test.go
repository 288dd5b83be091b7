package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// The package comment is a map of the files. It need not have the files of subdirectives of zones,
// because each of these has the name of its subdirective.
func TestPackageCommentNamesEveryFile(t *testing.T) {
	source, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "\npackage ")
	got := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`[a-z_]+\.go`).FindAllString(comment, -1))))
	files, _ := filepath.Glob("*.go")
	want := slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	p := &zoneParser{zonesParser: &zonesParser{Dispenser: caddyfile.NewTestDispenser("")}, zone: new(Zone)}
	for name := range p.block().Lines {
		isItsFile := func(file string) bool { return file == strings.ReplaceAll(name, "_", "")+".go" }
		got, want = slices.DeleteFunc(got, isItsFile), slices.DeleteFunc(want, isItsFile)
	}
	if !slices.Equal(got, want) {
		t.Errorf("files in the package comment =\n%v, want\n%v", got, want)
	}
}
