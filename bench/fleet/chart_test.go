package main

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
)

func TestScale(t *testing.T) {
	for _, c := range []struct{ highest, step, end float64 }{
		{0, 0.25, 1},
		{1, 0.2, 1},
		{4, 1, 4},
		{4.1, 1, 5},
		{9.9, 1, 10},
		{0.03, 0.005, 0.03},
		{1000, 200, 1000},
		{2_345_678, 500_000, 2_500_000},
	} {
		step, end := scale(c.highest)
		if short(step) != short(c.step) || short(end) != short(c.end) {
			t.Errorf("scale(%g) = %g to %g, want %g to %g", c.highest, step, end, c.step, c.end)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.25", 100: "100", 1000: "1000", 10_000: "10 k", 12_500: "12.5 k", 1_500_000: "1.5 M",
	} {
		if got := short(v); got != want {
			t.Errorf("short(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestChartIsAnSVGWithAllPoints(t *testing.T) {
	c := &chart{title: "Takes", x: "nodes", y: "takes/s", series: []series{
		{name: "leases", colour: canvas.Blue}, {name: "strict", colour: canvas.Ink},
	}}
	for i, nodes := range []int{2, 20, 200} {
		c.series[0].add(nodes, float64(i+8))
		c.series[1].add(nodes, 0)
	}
	got := c.svg()
	if err := xml.Unmarshal([]byte(got), new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("it is no XML: %v", err)
	}
	for _, want := range []string{
		">Takes<", ">nodes<", ">takes/s<", ">leases<", ">strict<", ">200<", ">10<",
		`points="90.0,108.0 320.0,79.0 550.0,50.0"`,   // 8, 9 and 10 of 10; the axis of nodes is logarithmic
		`points="90.0,340.0 320.0,340.0 550.0,340.0"`, // 0 is at the bottom
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s:\n%s", want, got)
		}
	}
}
