// Command plot draws the figures of docs/algorithms.md and prints its tables, from the algorithms themselves:
//
//	go run ./docs/plot
//
// rewrites docs/img/*.svg. The same source always draws the same bytes, and the test of this package fails when the
// figures in the repository, or the tables on the page, are not what the command makes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// figures are the files that the command draws.
var figures = []struct {
	name string
	draw func() string
}{
	{"algorithms.svg", drawAlgorithms},
	{"sub-windows.svg", drawSubWindows},
}

func main() {
	out := flag.String("out", filepath.Join("docs", "img"), "directory of the figures")
	flag.Parse()
	for _, f := range figures {
		path := filepath.Join(*out, f.name)
		if err := os.WriteFile(path, []byte(f.draw()), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "plot: %v (run it in the root of the repository, or say -out)\n", err)
			os.Exit(1)
		}
	}
	fmt.Println(algorithmsTable())
	fmt.Print(subWindowsTable())
}
