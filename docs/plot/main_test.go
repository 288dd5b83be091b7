package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFiguresAreWhatTheCommandDraws(t *testing.T) {
	for _, f := range figures {
		got, err := os.ReadFile(filepath.Join("..", "img", f.name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != f.draw() {
			t.Errorf("docs/img/%s is not what the command draws: run 'go run ./docs/plot' and look at it", f.name)
		}
	}
}

func TestTablesAreOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "algorithms.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{algorithmsTable(), subWindowsTable()} {
		if !strings.Contains(string(page), table) {
			t.Errorf("docs/algorithms.md lacks this table, which 'go run ./docs/plot' prints:\n%s", table)
		}
	}
}
