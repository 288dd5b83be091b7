// Command size measures how many bytes this module adds to the binary of Caddy, built without symbols
// as for production. It also shows which Go modules these bytes belong to.
//
//	go run ./size
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

const module = "github.com/fleetlimit/fleetlimit"

// plain is the source of a Caddy with only its standard modules.
const plain = `package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

func main() { caddycmd.Main() }
`

func main() { report.End("size", run()) }

func run() error {
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := builder{root: strings.TrimSpace(string(root)), dir: dir}
	before, err := b.build("plain", plain, "-s -w")
	if err != nil {
		return err
	}
	after, err := b.build("module", withModule(), "-s -w")
	if err != nil {
		return err
	}
	shares := make(map[string]int64)
	for sign, source := range map[int64]string{-1: plain, 1: withModule()} {
		if _, err := b.build("symbols", source, ""); err != nil {
			return err
		}
		if err := b.addSymbols(shares, sign); err != nil {
			return err
		}
	}
	report.Head("go run ./size")
	fmt.Printf("\n| stripped binary | MB |\n|---|---|\n| Caddy with its standard modules | %.1f |\n"+
		"| the same with this module | %.1f |\n| added | %.1f |\n", mb(before), mb(after), mb(after-before))
	fmt.Print("\n| added code and data | MB |\n|---|---|\n")
	for _, name := range slices.SortedFunc(maps.Keys(shares), func(a, b string) int { return cmp.Compare(shares[b], shares[a]) }) {
		if shares[name] >= 100_000 {
			fmt.Printf("| `%s` | %.1f |\n", name, mb(shares[name]))
		}
	}
	return nil
}

func withModule() string { return strings.Replace(plain, ")\n", "\n\t_ \""+module+"\"\n)\n", 1) }

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

// A builder builds programs in the directory root of the module. It keeps them in dir.
type builder struct{ root, dir string }

// build builds a program from its source. It returns the size of the binary in bytes.
func (b *builder) build(name, source, linkFlags string) (size int64, err error) {
	main := filepath.Join(b.dir, name+".go")
	if err := os.WriteFile(main, []byte(source), 0o600); err != nil {
		return 0, err
	}
	binary := filepath.Join(b.dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", linkFlags, "-o", binary, main)
	cmd.Dir, cmd.Stderr = b.root, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("building %s: %w", name, err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// addSymbols adds the sizes of the symbols in the binary "symbols" to shares, by Go module. sign is 1,
// or -1 to subtract them.
func (b *builder) addSymbols(shares map[string]int64, sign int64) error {
	symbols, err := output("go", "tool", "nm", "-size", filepath.Join(b.dir, "symbols"))
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(symbols)); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // address, size, type, name
		if len(fields) < 4 {
			continue
		}
		if size, err := strconv.ParseInt(fields[1], 10, 64); err == nil && fields[2] != "B" && fields[2] != "b" { // B and b are not in the file
			shares[moduleOf(fields[3])] += sign * size
		}
	}
	return nil
}

// moduleOf returns the Go module of a symbol, which is taken to be the first three elements of the path
// of its package.
func moduleOf(symbol string) string {
	elements := strings.SplitN(symbol, "/", 4)
	last := len(elements) - 1
	if last == 0 || !strings.Contains(elements[0], ".") {
		return "the standard library, types and others"
	}
	if last < 3 { // the last element is the package, a dot, and the name
		elements[last], _, _ = strings.Cut(elements[last], ".")
	}
	return strings.Join(elements[:min(3, len(elements))], "/")
}

func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}
