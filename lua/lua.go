// Package lua makes the scripts that decide takes inside Redis.
//
// A script is made for a list of algorithms, those of the rules that it is asked for: its text is the text of the files of this
// directory, once for each rule, with the rule's number in place of N. So a script has neither functions nor tables that would
// have to be made anew each time it runs, and a decision takes Redis about half the time.
//
// A script reads what is asked (ask.lua), decides (take.lua; loan.lua and lend.lua), and writes (write.lua, hold.lua, finish.lua). The file
// of an algorithm has a section, under a line of dashes and its name, for each thing that differs; `<name>` in a text stands for
// that section.
//
//	read     the state, as it is stored or from nothing: the locals that the others use; sets written_N, the instant of the
//	         newest write, and expires_N, when the value is of no more use
//	advance  moves the state from written_N to now; sets at_N, left_N and changed_N
//	void     makes the locals that read has set those of nothing: see check.lua
//	left     sets left_N again
//	explain  what the reply needs when the take is denied: `leave` events have to leave first
//	settle   what is to be written before anything else
//	consume  adds n events
//	lend     adds n events that may be spent later: in windows, as if they were consumed
//	refund   gives back those of n events consumed at the instant taken that would not be free again by now; right after that,
//	         a bucket lacked so many events as lacked says
//	ours     whether what was consumed at the instant taken is of this count, and may go back
//	back     gives back n events that were lent at the instant taken: in windows, as if they had been consumed
//	raise    makes sure that n events are used
//	until    sets until when the state is of use, reset
//	save     sets value, for the hash, and reset; neither removes it from the hash
//	reply    a list of the numbers from which the decision is worked out
//
// changed_N says that the state is to be written even when nothing is taken: such as when what was consumed had to be moved to
// another time, because the clock was set back or the window has another length.
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
	"maps"
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
	include = regexp.MustCompile(`<\w+>`)
	number  = regexp.MustCompile(`\bN\b|_N\b|\bFIELD\b|\bVALUE\b|\bLOG\b`)
)

// sections are the parts of an algorithm's file by their names.
type sections map[string]string

// sectionsOf returns those of a file, and with them what others have alike, unless the file says something else.
func sectionsOf(file string, others ...sections) sections {
	all := sections{"explain": "", "settle": "", "lend": "<consume>", "back": "<refund>", "write": write, "hold": hold,
		"ours": "taken >= (created or 0)"}
	for _, other := range others {
		maps.Copy(all, other)
	}
	text := read(file)
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		all[text[h[2]:h[3]]] = strings.TrimSpace(text[h[1]:end])
	}
	return all
}

// expand returns text with the sections in place of their names.
func (s sections) expand(text string) string {
	return include.ReplaceAllStringFunc(text, func(match string) string {
		section, ok := s[strings.Trim(match, "<>")]
		if !ok {
			panic("lua: there is no section " + match)
		}
		return s.expand(section)
	})
}

var (
	base, wide, log      = read("base.lua"), read("wide.lua"), read("log.lua")
	stored, ask, check   = read("stored.lua"), read("ask.lua"), read("check.lua")
	take, refund         = read("take.lua"), read("refund.lua")
	loan, lend, finished = read("loan.lua"), read("lend.lua"), read("finish.lua")
	write, hold          = strings.TrimSpace(read("write.lua")), strings.TrimSpace(read("hold.lua"))

	slots      = sectionsOf("slots.lua")
	algorithms = map[limiter.Kind]sections{
		limiter.TokenBucket:      sectionsOf("token_bucket.lua", slots),
		limiter.SlidingWindowLog: sectionsOf("sliding_log.lua", slots),
		limiter.SlidingWindow:    sectionsOf("sliding_window.lua"),
		limiter.FixedWindow:      sectionsOf("fixed_window.lua"),
	}
)

// Announce returns the script by which nodes know of each other: see announce.lua.
func Announce() string { return base + read("announce.lua") }

// Take returns the script that decides takes under rules of these algorithms: see ask.lua and take.lua.
func Take(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.each("<advance>\nlocal allows_N = cost_N <= left_N\n")
	b.WriteString("local takes, allowed = ARGV[2] == 'take', " + b.list(" and ", "allows_N") + "\n")
	b.each(take)
	return b.finish("allows_N and 1 or 0, breach_N, at_N, <reply>")
}

// Refund returns the script that gives back what was taken under rules of these algorithms: see ask.lua and refund.lua.
func Refund(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.each("<advance>\n" + refund)
	return b.finish("")
}

// Lend returns the script that answers loans under rules of these algorithms: see ask.lua, loan.lua and lend.lua.
func Lend(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.WriteString("local allowed, here = true, tonumber(ARGV[2])\n")
	b.each(loan)
	b.each(lend)
	return b.finish("at_N, more_N, want_N, <reply>")
}

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
	b.WriteString("local last, added, stored = now, 0, redis.call('HMGET', KEYS[1], '@', " + b.list(", ", "FIELD") + ")\n" + stored)
	b.each(ask + "<read>\n" + check)
	return b
}

// finish returns the script, which returns for each rule what reply says.
func (b *builder) finish(reply string) string {
	b.WriteString(finished)
	if reply != "" {
		b.WriteString("local reply = {" + b.list(", ", reply) + "}\n")
		b.WriteString("if bad > 0 then reply[#reply + 1] = bad end\nreturn reply\n")
	}
	return b.String()
}

// each writes text for each rule.
func (b *builder) each(text string) { b.WriteString(b.list("", text)) }

// list returns text for each rule, with the sections of its algorithm, and with a separator between them.
func (b *builder) list(separator, text string) string {
	all, logs := make([]string, len(b.kinds)), 0
	for i, kind := range b.kinds {
		if kind == limiter.SlidingWindowLog {
			logs++
		}
		all[i] = numbered(algorithms[kind].expand(text), i+1, logs)
	}
	return strings.Join(all, separator)
}

// numbered returns text with n in place of N, and with what FIELD, VALUE and LOG stand for: see ask.lua.
func numbered(text string, n, logs int) string {
	return number.ReplaceAllStringFunc(text, func(match string) string {
		switch match {
		case "FIELD":
			return fmt.Sprintf("ARGV[%d]", 7*n-4)
		case "VALUE":
			return fmt.Sprintf("stored[%d]", n+1)
		case "LOG":
			return fmt.Sprintf("KEYS[%d]", 1+logs)
		}
		return strings.TrimSuffix(match, "N") + fmt.Sprint(n)
	})
}
