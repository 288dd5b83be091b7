// Command plot draws the figures of docs/algorithms.md and prints the tables of that page. It runs the
// algorithms of package limiter for them:
//
//	cd bench && go run ./plot
//
// Equal sources always make equal bytes. The test of this package fails if the figures in the
// repository, or the tables on the page, differ from the output of the command.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// figures are the files that the command writes.
var figures = []struct {
	name string
	draw func() []byte
}{
	{"algorithms.svg", drawAlgorithms},
	{"sub-windows.svg", drawSubWindows},
	{"accuracy.svg", drawAccuracy},
}

func main() {
	out := flag.String("out", filepath.Join("..", "docs", "img"), "`directory` of the figures")
	flag.Parse()
	for _, f := range figures {
		if err := os.WriteFile(filepath.Join(*out, f.name), f.draw(), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "plot: %v: use it in the directory bench, or use -out\n", err)
			os.Exit(1)
		}
	}
	fmt.Println(algorithmsTable())
	fmt.Println(subWindowsTable())
	fmt.Print(accuracyTable())
}
