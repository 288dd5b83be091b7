// Package lua makes the scripts that decide takes inside Redis.
//
// A script is made for a list of algorithms, those of the rules that it is asked for: its text is the text of the files of this
// directory, once for each rule, with the rule's number in place of N. So a script has neither functions nor tables that would
// have to be made anew each time it runs, and a decision takes Redis about half the time.
//
// A script reads what is asked (ask.lua), decides (take.lua), and writes (write.lua, finish.lua). The file of an algorithm has a
// section, under a line of dashes and its name, for each thing that differs:
//
//	load     the state, as it is stored or from nothing: the locals that the others use; sets left_N, and at_N and changed_N
//	explain  what the reply needs when the take is denied
//	settle   what is to be written before anything else
//	take     consumes cost_N events
//	refund   gives back cost_N events that were taken at taken_N
//	save     sets reset, when the key is back to its full limit, and value, for the hash; neither removes it from the hash
//	reply    a list of the numbers from which the decision is worked out
//
// changed_N says that the state is to be written even when nothing is taken: what was consumed had to be moved to another time,
// because the clock was set back or the window has another length.
//
// The scripts do what is to be atomic, and no more: whether a take is allowed, and the new state. What clients are told
// (what is left, when to retry) is worked out from the reply by package limiter, in which the rules of each algorithm are
// explained.
//
// All numbers are integers below 2^53, which Lua's doubles hold exactly; instants are microseconds since the Unix epoch.
package lua

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// MaxRules is how many rules a script can be asked for: Lua has room for 200 local variables.
const MaxRules = 8

//go:embed *.lua
var files embed.FS

// read returns a file without its comments and empty lines, which Redis would keep for every script.
func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return empty.ReplaceAllString(comment.ReplaceAllString(string(text), ""), "\n")
}

var (
	comment = regexp.MustCompile(`(?m)(^| +)-- .*$|^--$`)
	empty   = regexp.MustCompile(`\n\n+`)
	heading = regexp.MustCompile(`(?m)^---- (\w+)$`)
	number  = regexp.MustCompile(`\bN\b|_N\b`)
)

// sections are the parts of an algorithm's file by their names.
type sections map[string]string

func sectionsOf(file string) sections {
	text, all := read(file), make(sections)
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		all[text[h[2]:h[3]]] = strings.TrimSpace(text[h[1]:end]) + "\n"
	}
	return all
}

var (
	base, wide, log          = read("base.lua"), read("wide.lua"), read("log.lua")
	ask, take, write, finish = read("ask.lua"), read("take.lua"), read("write.lua"), read("finish.lua")

	algorithms = map[limiter.Kind]sections{
		limiter.TokenBucket:      sectionsOf("token_bucket.lua"),
		limiter.SlidingWindowLog: sectionsOf("sliding_log.lua"),
		limiter.SlidingWindow:    sectionsOf("sliding_window.lua"),
		limiter.FixedWindow:      sectionsOf("fixed_window.lua"),
	}
)

// Announce returns the script by which nodes know of each other: see announce.lua.
func Announce() string { return base + read("announce.lua") }

// Take returns the script that decides takes under rules of these algorithms: see ask.lua and take.lua.
func Take(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.each(func(sections) string { return "local allows_N = cost_N <= left_N\n" })
	b.WriteString("local takes, allowed = ARGV[2] == 'take', " + b.list(" and ", func(sections) string { return "allows_N" }) + "\n")
	b.each(func(s sections) string { return s["explain"] })
	b.each(func(sections) string { return take })
	b.each(func(s sections) string {
		return "if changed_N then\n" + s["settle"] + "if allowed then\n" + s["take"] + "end\n" + saved(s) + "end\n"
	})
	b.WriteString(finish + "return {" + b.list(", ", func(s sections) string {
		return "allows_N and 1 or 0, breach_N, at_N, " + strings.TrimSpace(s["reply"])
	}) + "}\n")
	return b.String()
}

// Refund returns the script that gives back what was taken under rules of these algorithms: see ask.lua.
func Refund(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.each(func(s sections) string {
		return "do\nlocal taken_N = tonumber(ARGV[7 * N + 2])\n" + s["settle"] + s["refund"] + saved(s) + "end\n"
	})
	b.WriteString(finish)
	return b.String()
}

// saved saves and writes the state of a rule.
func saved(s sections) string { return "local value, reset\n" + s["save"] + write }

// A builder writes a script for rules of some algorithms.
type builder struct {
	strings.Builder
	kinds []limiter.Kind
}

// begin returns a builder of a script that has read what it is asked.
func begin(kinds []limiter.Kind) *builder {
	b := &builder{kinds: kinds}
	b.WriteString(base + wide)
	if slices.Contains(kinds, limiter.SlidingWindowLog) {
		b.WriteString(log)
	}
	b.each(func(s sections) string { return ask + s["load"] })
	b.WriteString("local last, added = now, 0\n")
	return b
}

// each writes for each rule what text makes of the sections of its algorithm.
func (b *builder) each(text func(sections) string) { b.WriteString(b.list("", text)) }

// list returns what text makes of the sections of each rule's algorithm, with a separator between them.
func (b *builder) list(separator string, text func(sections) string) string {
	all := make([]string, len(b.kinds))
	for i, kind := range b.kinds {
		all[i] = numbered(text(algorithms[kind]), i+1)
	}
	return strings.Join(all, separator)
}

// numbered returns text with n in place of N.
func numbered(text string, n int) string {
	return number.ReplaceAllStringFunc(text, func(match string) string {
		return strings.TrimSuffix(match, "N") + fmt.Sprint(n)
	})
}
