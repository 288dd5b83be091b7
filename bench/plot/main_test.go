package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const docs = "../../docs"

func TestFiguresAreUpToDate(t *testing.T) {
	for _, f := range figures {
		got, err := os.ReadFile(filepath.Join(docs, "img", f.name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, f.draw()) {
			t.Errorf("docs/img/%s is out of date: use 'go run ./plot' in bench, and look at the figure", f.name)
		}
	}
}

func TestTablesAreUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docs, "algorithms.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{algorithmsTable(), subWindowsTable(), accuracyTable()} {
		if !strings.Contains(string(page), table) {
			t.Errorf("docs/algorithms.md lacks this table, which 'go run ./plot' prints:\n%s", table)
		}
	}
}
