package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCurvesAreDrawn(t *testing.T) {
	c := newCurves("Takes", "nodes", "takes/s")
	for i, nodes := range []int{2, 20, 200} {
		c.add("leases", nodes, float64(i+8))
		c.add("strict", nodes, 0)
	}
	dir := t.TempDir()
	if err := c.save(dir, "takes.svg"); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "takes.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">Takes<", ">nodes<", ">takes/s<", ">leases<", ">strict<", ">2<", ">200<", "fill:#3D85D8"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the figure lacks %s:\n%s", want, svg)
		}
	}
}
