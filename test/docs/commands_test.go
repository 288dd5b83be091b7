package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fleetlimit/fleetlimit/internal/operate/command"
)

var (
	span      = regexp.MustCompile("`([^`]+)`")
	joined    = regexp.MustCompile(` *\\\n\s*`) // joins a command that is on several lines
	separator = regexp.MustCompile(` *(&&|\||;|>) *`)
)

// commandsOf returns the commands of a page: its spans of code, and the lines of its blocks for a shell. A
// line with && or | has several commands.
func commandsOf(t *testing.T, page string) (commands []string) {
	t.Helper()
	examples, prose := split(t, page)
	for _, match := range span.FindAllStringSubmatch(strings.Join(strings.Fields(prose), " "), -1) {
		commands = append(commands, match[1])
	}
	for _, e := range examples {
		switch {
		case e.is("console"):
			for line := range strings.Lines(joined.ReplaceAllString(e.text, " ")) {
				if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
					commands = append(commands, command)
				}
			}
		case e.is("sh"):
			for line := range strings.Lines(joined.ReplaceAllString(e.text, " ")) {
				line, _, _ = strings.Cut(line, " # ")
				commands = append(commands, line)
			}
		}
	}
	var single []string
	for _, command := range commands {
		if strings.HasPrefix(command, "go test ") { // a pattern of tests may have |
			single = append(single, strings.TrimSpace(command))
			continue
		}
		for _, part := range separator.Split(command, -1) {
			single = append(single, strings.TrimSpace(part))
		}
	}
	return single
}

// TestCommands checks that what the commands in the pages run exists: tests, programs, make targets, and
// commands of caddy rate-limit with their flags.
func TestCommands(t *testing.T) {
	found := make(map[string]int)
	for _, page := range pages(t) {
		for _, line := range commandsOf(t, page) {
			words := shellWords(line)
			kind, args := strings.Join(words[:min(2, len(words))], " "), words[min(2, len(words)):]
			kind = strings.TrimPrefix(kind, "bin/")
			var wrong string
			switch {
			case kind == "go test":
				wrong = checkGoTest(t, args)
			case kind == "go run":
				wrong = checkGoRun(args)
			case kind == "caddy rate-limit":
				wrong = checkRateLimit(args)
			case words[0] == "make" && len(words) > 1:
				kind = "make"
				if !strings.Contains("\n"+read(t, "Makefile"), "\n"+words[1]+":") {
					wrong = "Makefile has no such target"
				}
			default:
				continue
			}
			found[kind]++
			if wrong != "" {
				t.Errorf("%s has `%s`: %s", page, line, wrong)
			}
		}
	}
	for _, kind := range []string{"go test", "go run", "caddy rate-limit", "make"} {
		if found[kind] < 5 {
			t.Errorf("the pages have %d commands of %s, want 5 or more", found[kind], kind)
		}
	}
}

// checkGoTest checks that the tests and benchmarks exist that go test would run in its packages.
func checkGoTest(t *testing.T, args []string) (wrong string) {
	t.Helper()
	patterns := map[string]string{"-run": "", "-bench": ""}
	var packages []string
	for i, arg := range args {
		if _, isPattern := patterns[arg]; isPattern && i+1 < len(args) {
			patterns[arg] = strings.Trim(args[i+1], "^$.")
		}
		if (arg == "." || strings.HasPrefix(arg, "./")) && args[i-min(i, 1)] != "-bench" {
			packages = append(packages, arg)
		}
	}
	if len(packages) == 0 {
		return "it has no package"
	}
	for flag, kind := range map[string]string{"-run": "Test", "-bench": "Benchmark"} {
		for name := range strings.SplitSeq(patterns[flag], "|") {
			name = strings.TrimPrefix(name, kind)
			is := regexp.MustCompile(`(?m)^func ` + kind + `\w*` + name)
			if name != "" && !slices.ContainsFunc(packages, func(folder string) bool { return hasTest(t, folder, is) }) {
				return "no " + kind + " of its packages has " + name + " in its name"
			}
		}
	}
	return ""
}

// checkGoRun checks that the program exists that go run would run, in the module bench or in this one.
func checkGoRun(args []string) (wrong string) {
	for _, module := range []string{"bench", "."} {
		if _, err := os.Stat(filepath.Join(root, module, args[0], "main.go")); err == nil {
			return ""
		}
	}
	return "there is no such program"
}

// checkRateLimit checks that a command of caddy rate-limit exists, with its flags.
func checkRateLimit(args []string) (wrong string) {
	top := &cobra.Command{Use: "rate-limit"}
	command.RateLimit().CobraFunc(top)
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return ""
	}
	found, rest, err := top.Find(args)
	switch {
	case err != nil:
		return err.Error()
	case found == top && i == 0, found.HasSubCommands() && slices.ContainsFunc(rest, isWord):
		return "there is no such command"
	}
	if err := found.ParseFlags(rest); err != nil {
		return err.Error()
	}
	return ""
}

// TestEveryCommandIsOnItsPage looks in docs/operate/commands.md for each command of caddy rate-limit.
func TestEveryCommandIsOnItsPage(t *testing.T) {
	top := &cobra.Command{Use: "rate-limit"}
	command.RateLimit().CobraFunc(top)
	page := read(t, "docs/operate/commands.md")
	for _, c := range top.Commands() {
		if !strings.Contains(page, "| `"+c.Name()) && !strings.Contains(page, "`, `"+c.Name()) {
			t.Errorf("the table of docs/operate/commands.md lacks %s", c.Name())
		}
	}
}

// isWord reports whether an argument is neither a flag nor a text such as <zone> that stands for an argument.
func isWord(arg string) bool { return !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "<") }

// shellWords splits a command at spaces outside of quotes.
func shellWords(command string) []string {
	var quote rune
	words := strings.FieldsFunc(command, func(c rune) bool {
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		return c == ' ' && quote == 0
	})
	for i := range words {
		words[i] = strings.Trim(words[i], `'"`)
	}
	if len(words) == 0 {
		return []string{""}
	}
	return words
}

// response matches a Content-Length in a page, and the one line of the body.
var response = regexp.MustCompile(`(?m)^Content-Length: (\d+)\n(?:.+\n)*\n(.+\n)`)

// TestResponsesAreWhole compares the Content-Length of each response in the pages with the length of its
// body.
func TestResponsesAreWhole(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, match := range response.FindAllStringSubmatch(read(t, page), -1) {
			found++
			length, _ := strconv.Atoi(match[1])
			if body := match[2]; length != len(body) && length != len(body)-1 { // a body may lack the last line break
				t.Errorf("%s: Content-Length is %d, but %q has %d bytes", page, length, body, len(body))
			}
		}
	}
	if found == 0 {
		t.Error("no page has a response with a body")
	}
}

// hasTest reports whether a folder has a test of this name.
func hasTest(t *testing.T, folder string, name *regexp.Regexp) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name.Match(text) {
			return true
		}
	}
	return false
}
