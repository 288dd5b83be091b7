package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// An event is one line of go test -json; see go doc test2json.
type event struct {
	Action     string // run, output, pass, fail, skip, ...
	Package    string
	ImportPath string // instead of Package when a package does not compile
	Test       string // empty for a package
	Output     string
	Elapsed    float64 // in seconds, when a test or a package has ended
}

// A report prints the events of a run as go test does without -v, and counts tests.
type report struct {
	w       io.Writer
	mustRun []string // the import paths of packages that must run tests
	broken  bool     // go test has failed

	output map[string]*strings.Builder // by package and test, until the test has ended
	ran    map[string]int              // tests that passed or failed, by package
	skips  []string
	slow   slowest

	// Tests and subtests. Invariant: passed + failed is the sum of ran.
	passed, failed, skipped int
}

func newReport(w io.Writer) *report {
	return &report{w: w, output: map[string]*strings.Builder{}, ran: map[string]int{}}
}

// read handles all events of a run.
func (r *report) read(events io.Reader) error {
	dec := json.NewDecoder(events)
	for {
		var e event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("strict: reading the events of go test: %w", err)
		}
		r.handle(e)
	}
}

func (r *report) handle(e event) {
	id := name(e)
	switch e.Action {
	case "build-output":
		io.WriteString(r.w, e.Output)
	case "output":
		if r.output[id] == nil {
			r.output[id] = new(strings.Builder)
		}
		r.output[id].WriteString(e.Output)
	case "pass", "fail", "skip":
		out := ""
		if b := r.output[id]; b != nil {
			out = b.String()
		}
		delete(r.output, id)
		if e.Test == "" {
			r.endPackage(e, out)
		} else {
			r.endTest(e, out)
		}
	}
}

func (r *report) endTest(e event, output string) {
	r.slow.add(e)
	switch e.Action {
	case "pass":
		r.passed++
		r.ran[e.Package]++
	case "fail":
		r.failed++
		r.ran[e.Package]++
		io.WriteString(r.w, output)
	case "skip":
		if seedOfFuzz(e.Test) {
			return
		}
		r.skipped++
		r.skips = append(r.skips, name(e)+": "+reason(output))
	}
}

// seedOfFuzz reports whether a test is one input of a fuzz target.
func seedOfFuzz(test string) bool {
	return strings.HasPrefix(test, "Fuzz") && strings.Contains(test, "/")
}

// name returns the package and test of an event.
func name(e event) string { return e.Package + "." + e.Test }

// reason returns the output of a skipped test in one line.
func reason(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// endPackage prints the last line of a package, or all of its output if it has failed.
func (r *report) endPackage(e event, output string) {
	for line := range strings.Lines(output) {
		last := strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ")
		silent := strings.HasSuffix(line, "[no tests to run]\n") || strings.HasSuffix(line, "[no test files]\n")
		if e.Action == "fail" || last && !silent {
			io.WriteString(r.w, line)
		}
	}
}

// close prints the totals, and the tests that took longest. The error says why the run has not passed.
func (r *report) close() error {
	var errs []error
	if len(r.skips) > 0 {
		errs = append(errs, fmt.Errorf("tests were skipped:\n\t%s",
			strings.Join(r.skips, "\n\t")))
	}
	for _, pkg := range r.mustRun {
		if r.ran[pkg] == 0 {
			errs = append(errs, fmt.Errorf("%s ran no test, but must", pkg))
		}
	}
	if r.passed+r.failed == 0 {
		errs = append(errs, errors.New("no test ran at all"))
	}
	if r.broken || r.failed > 0 {
		errs = append(errs, errors.New("go test failed"))
	}
	fmt.Fprintf(r.w, "%d passed, %d failed, %d skipped\n%s", r.passed, r.failed, r.skipped, r.slow)
	return errors.Join(errs...)
}
