package leasetest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

var writeScenarios = flag.Bool("scenarios.write", false, "write what happens in the scenarios to their files")

// TestScenarios plays the stories in testdata: remarks, commands, and below each of them what
// happens then.
//
//	rule <algorithm> <events>/<window> [burst=N] [subwindows=N] [nodes=N] [counted=1]
//	                                begins a new simulation; nodes are granted leases as if each were
//	                                alone, unless they are counted
//	limit <events> [burst=N]        changes the limit
//	at <time>                       lets time pass until so long after the beginning
//	take <node> [cost] [xN]         has takes arrive, all at the same instant
//	undone <node> [cost]            has a take arrive whose request another limit denies
//	want <node> <events>            sets what the node's next request wants
//	lose requests|answers|nothing   says what the network loses from now on
//	delay <time>                    says how long each way takes from now on; it is 1 ms before
//	crash <node>
//	replicate                       brings the replica up to date
//	fail over                       makes the replica the primary
//
// Until a scenario has said a delay, time passes after takes until they are decided.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios = %v, %v, want some", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScenarios(t, string(text))
			if *writeScenarios {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			compareLines(t, got, string(text))
		})
	}
}

// compareLines reports the first line that differs.
func compareLines(t *testing.T, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) || line != wantLines[i] {
			t.Fatalf("line %d:\n got %s\nwant %s\nIf that is right, write it with -scenarios.write", i+1, line,
				append(wantLines, make([]string, len(gotLines))...)[i])
		}
	}
	if len(wantLines) > len(gotLines) {
		t.Fatalf("line %d:\n got the end\nwant %s", len(gotLines)+1, wantLines[len(gotLines)])
	}
}

// playScenarios returns the text of a file with what really happens. Each rule begins a simulation.
func playScenarios(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	lines := slices.Collect(strings.Lines(text))
	for len(lines) > 0 {
		next := 1 + slices.IndexFunc(lines[1:], func(line string) bool { return strings.HasPrefix(line, "rule ") })
		if next == 0 {
			next = len(lines)
		}
		if !strings.HasPrefix(lines[0], "rule ") { // remarks before the first
			b.WriteString(strings.Join(lines[:next], ""))
		} else {
			synctest.Test(t, func(t *testing.T) { playScenario(t, lines[:next], &b) })
		}
		lines = lines[next:]
	}
	return b.String()
}

// A scenario is a simulation that is told what to do.
type scenario struct {
	*simulation
	t       *testing.T
	delayed bool // a delay has been said
}

func playScenario(t *testing.T, lines []string, b *strings.Builder) {
	t.Helper()
	var s *scenario
	happened := false // what follows is what was written to have happened
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		command := line != "" && !strings.HasPrefix(line, "#")
		switch {
		case happened && command:
			continue
		case command:
			words := strings.Fields(line)
			if s == nil {
				s = newScenario(t, words[1:])
			} else {
				s.do(words)
			}
			fmt.Fprintf(b, "%s\n----\n%s", line, s.happened(words[0] == "at" || s.delayed))
			happened = true
		default:
			happened = false
			b.WriteString(line + "\n")
		}
	}
	s.quiet()
	s.close()
	if s.checker.close(); s.checker.err != nil {
		t.Error(s.checker.err)
	}
}

// happened returns what has happened since it was called last, and when, if it is timed.
func (s *scenario) happened(timed bool) string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store.recalls > 0 { // no take waits for the nodes that return their parts
		us := 1 + 4*s.net.delay
		s.store.recalls = 0
		s.mu.Unlock()
		sleep(us)
		synctest.Wait()
		s.mu.Lock()
	}
	slices.SortStableFunc(s.trace, func(a, b traceLine) int { return cmp.Or(cmp.Compare(a.at, b.at), a.order(b)) })
	var lines []string
	for i := range s.trace {
		l := &s.trace[i]
		line := l.String() + "\n"
		if timed && l.at != s.now() {
			line = fmt.Sprintf("%v: %s", sinceEpoch(l.at), line)
		}
		lines = append(lines, line)
	}
	s.trace = nil
	return strings.Join(lines, "")
}

// order puts what happens at the same instant in an order, as goroutines may do it in any: takes
// come before requests and answers, those that leave more before those that leave less.
func (l traceLine) order(o traceLine) int {
	takes := func(l traceLine) int {
		if strings.Contains(l.format, " takes ") {
			return 0
		}
		return 1
	}
	switch takes(l) + takes(o) {
	case 0:
		return strings.Compare(o.String(), l.String())
	case 1:
		return takes(l) - takes(o)
	}
	return strings.Compare(l.String(), o.String())
}

// newScenario returns a scenario under the rule that the words say.
func newScenario(t *testing.T, words []string) *scenario {
	t.Helper()
	kind, err := limiter.ParseKind(words[0])
	if err != nil {
		t.Fatal(err)
	}
	events, length, _ := strings.Cut(words[1], "/")
	limit := limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: kind, SubWindows: int(number(t, option(words, "subwindows")))},
		Limit: limiter.Limit{
			Events: number(t, events), Burst: number(t, option(words, "burst")),
			Window: time.Duration(microseconds(t, length)) * time.Microsecond,
		},
	}
	s := &scenario{newSimulation(rand.New(rand.NewPCG(1, 1)), limit, 1, fault{}), t, false}
	s.net.delay, s.steady, s.tracing = ms, true, true
	s.alone = option(words, "counted") == "0"
	s.addNodes(int(max(2, number(t, option(words, "nodes")))))
	leases := "no leases"
	if s.rule.Leases() {
		leases = fmt.Sprintf("leases of %v", time.Duration(s.rule.LeaseTime())*time.Microsecond)
	}
	s.tracef(allKeys, "%s, %d nodes", leases, len(s.nodes))
	return s
}

// do does what a line says.
func (s *scenario) do(words []string) {
	argument := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	s.mu.Lock()
	switch verb := words[0]; verb {
	case "limit":
		s.setLimit(number(s.t, argument(1)), number(s.t, option(words, "burst")))
	case "at":
		until := epoch + limiter.Instant(microseconds(s.t, argument(1)))
		s.mu.Unlock()
		sleep(until - s.now())
		synctest.Wait()
		return
	case "take", "undone":
		cost, times := int64(1), int64(1)
		for _, word := range words[2:] {
			if n, ok := strings.CutPrefix(word, "x"); ok {
				times = number(s.t, n)
			} else {
				cost = number(s.t, word)
			}
		}
		n := s.node(words)
		if verb == "undone" {
			s.net.regret = 1
		}
		s.mu.Unlock()
		for range times {
			n.take(0, cost)
			synctest.Wait()
		}
		if !s.delayed {
			sleep[int64](5 * ms)
		}
		s.mu.Lock()
		s.net.regret = 0
	case "want":
		s.node(words).want = number(s.t, argument(2))
	case "lose":
		s.net.loseRequest, s.net.loseAnswer = 0, 0
		switch argument(1) {
		case "requests":
			s.net.loseRequest = 1
		case "answers":
			s.net.loseAnswer = 1
		}
	case "delay":
		s.net.delay, s.delayed = microseconds(s.t, argument(1)), true
	case "crash":
		s.node(words).crash()
	case "replicate":
		s.store.replicate()
	case "fail":
		s.store.failOver()
	default:
		s.t.Fatalf("command %q, want one of those above TestScenarios", verb)
	}
	s.mu.Unlock()
	synctest.Wait()
}

// node returns the node that the second of the words names.
func (s *scenario) node(words []string) *simNode {
	s.t.Helper()
	return s.nodes[number(s.t, words[1])-1]
}

// option returns the value of name=value among the words, and 0 when there is none.
func option(words []string, name string) string {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return "0"
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func microseconds(t *testing.T, text string) int64 {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d.Microseconds()
}
