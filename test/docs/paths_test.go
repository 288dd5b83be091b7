package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFilesOfTheWalkExist checks that the files exist that docs/code-walk.md names, and that the page has at
// most 25 steps.
func TestFilesOfTheWalkExist(t *testing.T) {
	walk := read(t, "docs/code-walk.md")
	steps := regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)`").FindAllStringSubmatch(walk, -1)
	if len(steps) == 0 || len(steps) > 25 {
		t.Errorf("the walk has %d steps, want 1 to 25", len(steps))
	}
	for _, file := range regexp.MustCompile("`([a-z_/]+\\.(?:go|lua))`").FindAllStringSubmatch(walk, -1) {
		if _, err := os.Stat(filepath.Join(root, file[1])); err != nil {
			t.Errorf("docs/code-walk.md: %v", err)
		}
	}
}

// TestPackageCommentsNameEveryFile compares the maps in package comments with the files of the packages.
func TestPackageCommentsNameEveryFile(t *testing.T) {
	for dir, commented := range map[string]string{".": "module.go", "internal/gateway": "doc.go"} {
		comment, _, _ := strings.Cut(read(t, filepath.Join(dir, commented)), "\npackage ")
		got := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`[a-z_]+\.go`).FindAllString(comment, -1))))
		files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		var want []string
		for _, file := range files {
			if name := filepath.Base(file); !strings.HasSuffix(name, "_test.go") && name != "doc.go" {
				want = append(want, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("files in the comment of %s =\n%v, want\n%v", dir, got, want)
		}
	}
}

// TestTreeHasEveryFolder compares the tree in CONTRIBUTING.md with the folders of the repository. The tree
// must have all folders at the top. If it has a subfolder of a folder, it must have all of them.
func TestTreeHasEveryFolder(t *testing.T) {
	_, tree, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "```text\n")
	tree, _, _ = strings.Cut(tree, "```")
	var shown, parents []string
	parent := ""
	for line := range strings.Lines(tree) {
		name, isFolder := strings.CutSuffix(strings.Fields(line)[0], "/")
		switch {
		case !isFolder:
		case strings.HasPrefix(line, "  "):
			shown = append(shown, parent+"/"+name)
			parents = append(parents, parent)
		case !strings.HasPrefix(line, " "):
			if parent = name; !strings.Contains(name, "/") { // otherwise the tree shows it below another folder already
				shown = append(shown, name)
			}
		}
	}
	found := folders(t, "")
	for _, parent := range slices.Compact(parents) {
		found = append(found, folders(t, parent)...)
	}
	slices.Sort(shown)
	slices.Sort(found)
	if !slices.Equal(shown, found) {
		t.Errorf("the tree in CONTRIBUTING.md has\n%v, want\n%v", shown, found)
	}
}

// folders returns the folders in a folder of the repository, except hidden folders, binaries and test data.
func folders(t *testing.T, parent string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && name[0] != '.' && name != "bin" && name != "testdata" {
			all = append(all, strings.TrimPrefix(parent+"/"+name, "/"))
		}
	}
	return all
}
