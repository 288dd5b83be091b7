package limiter

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var writeScenarios = flag.Bool("scenarios.write", false, "write what happens in the scenarios to their files")

// TestLeaseScenarios plays the stories in testdata/leases: remarks, commands, and below each of them what happens then.
//
//	rule <algorithm> <events>/<window> [burst=N] [overshoot=P] [subwindows=N] [nodes=N] [counted=1]   begins a new world; leases are
//	                                as if each node were alone, unless they are counted
//	limit <events> [burst=N]        changes the limit
//	at <time>                       lets time pass until so long after the beginning
//	take <node> [cost] [xN]         has takes arrive, all at the same instant
//	expect <node> <events>          makes the node expect so many events while a lease lasts
//	undo <node>                     undoes the last take, which a lease of the node has admitted
//	lose asks|answers|nothing       says what the network loses from now on
//	delay <time>                    says how long each way takes from now on
//	crash <node>
//	replicate                       has the replica know all that has happened so far
//	fail over                       makes the replica the primary
func TestLeaseScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/leases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios = %v, %v, want some", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScenario(t, string(text))
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

// playScenario returns the text of a scenario with what really happens.
func playScenario(t *testing.T, text string) string {
	t.Helper()
	var w *world
	var b strings.Builder
	answer := false // what follows is what was written to have happened
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		command := line != "" && !strings.HasPrefix(line, "#")
		switch {
		case answer && command:
			continue
		case command:
			w = playCommand(t, w, strings.Fields(line))
			fmt.Fprintf(&b, "%s\n----\n%s", line, w.happened())
			answer = true
		default:
			answer = false
			b.WriteString(line + "\n")
		}
	}
	if w != nil {
		w.net = network{}
		w.run(w.now + 4*maxLease)
		if w.audit.close(); w.audit.err != nil {
			t.Error(w.audit.err)
		}
	}
	return b.String()
}

// happened returns what has happened since it was called last, with the time of what has not happened now.
func (w *world) happened() string {
	var b strings.Builder
	for _, l := range w.trace {
		if l.at != w.now {
			fmt.Fprintf(&b, "%v: ", told(l.at))
		}
		b.WriteString(l.text + "\n")
	}
	w.trace = w.trace[:0]
	return b.String()
}

// playCommand does what a line says, and lets all happen that happens at once.
func playCommand(t *testing.T, w *world, words []string) *world {
	t.Helper()
	argument := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch verb := words[0]; verb {
	case "rule":
		w = ruleWorld(t, words[1:])
	case "limit":
		r := Rule{Algorithm: w.rule.Algorithm, Limit: w.rule.Limit, MaxOvershoot: w.rule.MaxOvershoot}
		r.Limit.Events = number(t, argument(1))
		r.Limit.Burst = number(t, option(words, "burst"))
		w.setRule(mustNew(r))
	case "at":
		w.run(begins + Instant(microseconds(t, argument(1))))
	case "take":
		cost, times := int64(1), int64(1)
		for _, word := range words[2:] {
			if n, ok := strings.CutPrefix(word, "x"); ok {
				times = number(t, n)
			} else {
				cost = number(t, word)
			}
		}
		for range times {
			w.node(t, words).take(0, cost)
			w.run(w.now + 1)
			w.now--
		}
	case "expect":
		h := w.node(t, words).holder(0)
		h.demand = float32(number(t, argument(2))) * demandHorizon
		h.noteAsked(h.clock())
	case "undo":
		h := w.node(t, words).holder(0)
		h.takeBack(w.audit.last(h), h.spent)
	case "lose":
		w.net.loseAsk, w.net.loseTell = 0, 0
		switch argument(1) {
		case "asks":
			w.net.loseAsk = 1
		case "answers":
			w.net.loseTell = 1
		}
	case "delay":
		w.net.delay = microseconds(t, argument(1))
	case "crash":
		w.node(t, words).crash()
	case "replicate":
		w.vault.replicate()
	case "fail":
		w.vault.failOver()
	default:
		t.Fatalf("command %q, want one of those above TestLeaseScenarios", verb)
	}
	w.run(w.now + 1)
	w.now--
	return w
}

// ruleWorld returns a world with the rule that the words say.
func ruleWorld(t *testing.T, words []string) *world {
	t.Helper()
	kind, err := ParseKind(words[0])
	if err != nil {
		t.Fatal(err)
	}
	events, window, _ := strings.Cut(words[1], "/")
	overshoot := float64(number(t, option(words, "overshoot"))) / 100
	w := &world{Rand: rand.New(rand.NewPCG(1, 1)), now: begins, trace: []line{}, alone: true}
	limit := Limit{Events: number(t, events), Burst: number(t, option(words, "burst"))}
	limit.Window = time.Duration(microseconds(t, window)) * time.Microsecond
	w.rule = mustNew(Rule{
		Algorithm:    Algorithm{kind, int(number(t, option(words, "subwindows")))},
		Limit:        limit,
		MaxOvershoot: overshoot,
	})
	w.most = w.rule
	w.lonely = option(words, "counted") == "0"
	for range max(2, number(t, option(words, "nodes"))) {
		w.nodes = append(w.nodes, w.newMember(0))
		w.nodes[len(w.nodes)-1].offset = 0
	}
	w.count()
	w.audit, w.vault = w.newAudit(1), w.newVault(1)
	lasts := "no leases"
	if w.rule.Leases() {
		lasts = fmt.Sprintf("leases of %v", time.Duration(w.rule.LeaseTime())*time.Microsecond)
	}
	w.tracef(allKeys, "%s, credit of %d for each of %d nodes", lasts, w.rule.Credit(len(w.nodes)), len(w.nodes))
	return w
}

// node returns the node that the second of the words names.
func (w *world) node(t *testing.T, words []string) *member {
	t.Helper()
	return w.nodes[number(t, words[1])-1]
}

// option returns the value of name=value among the words.
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
