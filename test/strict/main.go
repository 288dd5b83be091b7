// Command strict runs go test with its usual output. It fails if a test fails or is skipped, or if a package
// that must run tests has run none.
//
//	go run ./test/strict [-must-run '<packages>'] [<flags of go test>] <packages>
//
// A test that cannot run in one mode, such as a count of allocations under the race detector, belongs behind
// a build constraint and into a second run. A fuzz target may skip a seed.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	args := os.Args[1:]
	var mustRun string
	if len(args) > 1 && args[0] == "-must-run" {
		mustRun, args = args[1], args[2:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: strict [-must-run <packages>] [<flags of go test>] <packages>")
		os.Exit(2)
	}
	if err := run(mustRun, args); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// withTests makes go list print the packages that have tests.
const withTests = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"

// run runs go test with args. The error says why the run has not passed.
func run(mustRun string, args []string) error {
	r := newReport(os.Stdout)
	if mustRun != "" {
		list := append([]string{"list", "-f", withTests}, strings.Fields(mustRun)...)
		out, err := exec.Command("go", list...).Output()
		if err != nil {
			return fmt.Errorf("strict: go list %s: %w", mustRun, err)
		}
		r.mustRun = strings.Fields(string(out))
	}

	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := r.read(events)
	if err := cmd.Wait(); err != nil {
		r.broken = true // a test has failed, or a package does not compile
	}
	if readErr != nil {
		return readErr
	}
	return r.close()
}
