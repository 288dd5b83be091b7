// Package lua makes the scripts that decide takes inside Redis.
//
// A script is generated for a list of algorithms, those of the rules of a call. It is the text of
// the files of this directory, repeated for each rule, with the number of the rule in place of N.
// So a script has neither tables nor functions that Redis would have to make for each run, and
// decides in about half the time. Package redisstore makes the arguments: see args.lua.
//
// The files take.lua, refund.lua, charge.lua, lease_request.lua and lease_grant.lua are the
// operations of requests, and reset.lua and add_quota.lua those of operators. They include sections
// by name: `<consume>` stands for the section under the line `---- consume`. Each algorithm has
// these sections:
//
//	read     reads the state, or starts with an empty one; sets written_N, the instant of the newest
//	         write, and the locals that the other sections use
//	clear    sets these locals to those of an empty state
//	advance  moves the state from written_N to now; sets at_N, left_N and changed_N
//	left     sets left_N again
//	explain  finds what the reply of a denial needs: when `leave` events have left
//	trim     does the writes that come before all others
//	consume  adds n events
//	charged  notes that what was consumed just now was charged; does nothing by default
//	grant    adds n events of a lease; by default like consume
//	allows   whether a take of cost_N events is allowed; by default if that many are left
//	recall   tells nodes to return what they hold, if it is needed; does nothing by default
//	lend     grants want_N events, by grant, or less: want_N is then what is granted
//	granted  whether something is granted
//	lent     the numbers of the reply that say what is granted; by default want_N
//	refund   gives back those of n events consumed at the instant taken that would not be free again
//	         by now; a bucket lacked `lacked` events right after that instant
//	valid    whether events of the instant taken belong to this count
//	return   gives back n leased events granted at the instant taken; by default like refund
//	restore  raises what is used to n
//	since    the instant from which on lost events are restored; by default taken
//	empty    empties the state for a reset; by default like clear
//	quota    gives back n events, the newest first
//	lasts    for how many µs an event counts at most
//	reset    sets reset, the instant until which the state is of use
//	save     sets value, for the hash, and reset; without a value the field is removed
//	reply    a list of the numbers from which the decision is derived
//
// changed_N means that the state has to be written even when nothing is consumed: for example
// because the clock was set back, or because the window has another length.
//
// The scripts do only what has to be atomic: whether a take is allowed, and the new state. Package
// limiter derives the rest from the reply, and explains the rules of each algorithm.
//
// All numbers are integers below 2^53, which Lua's doubles hold exactly. Instants are microseconds
// since the Unix epoch.
package lua

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// MaxRules is the most rules of a script: Lua has room for 200 local variables.
const MaxRules = 7

//go:embed *.lua
var files embed.FS

var (
	comment = regexp.MustCompile(`(?m)(^| +)-- .*$|^--$`)
	empty   = regexp.MustCompile(`\n\n+`)
	heading = regexp.MustCompile(`(?m)^---- (\w+)$`)
	include = regexp.MustCompile(`<\w+>`)
	number  = regexp.MustCompile(`\bN\b|_N\b|\bFIELD\b|\bVALUE\b|\bLOG\b`)
)

// read returns a file without comments and empty lines, which Redis would keep for every script.
func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.TrimSpace(empty.ReplaceAllString(comment.ReplaceAllString(string(text), ""), "\n")) + "\n"
}

// sections are parts of files by their names.
type sections map[string]string

// sectionsOf returns the sections in the files of an algorithm, and those that all algorithms have.
func sectionsOf(names ...string) sections {
	all := sections{
		"explain": "", "trim": "", "charged": "", "recall": "", "grant": "<consume>", "return": "<refund>", "valid": "taken >= (created or 0)",
		"empty": "<clear>", "lasts": "window_N", "functions": "", "granted": "want_N > 0", "lent": "want_N", "since": "taken",
		"allows": "cost_N <= left_N",
		"lend":   "if want_N > 0 then\n    local n = want_N\n    <grant>\n  end",
	}
	for _, name := range append(names, "args.lua", "save.lua") {
		text := read(name)
		headings, parts := heading.FindAllStringSubmatch(text, -1), heading.Split(text, -1)[1:]
		for i, part := range parts {
			all[headings[i][1]] = strings.TrimSpace(part)
		}
	}
	return all
}

// expand returns text with the sections in place of their names.
func (s sections) expand(text string) string {
	return include.ReplaceAllStringFunc(text, func(match string) string {
		if section, ok := s[strings.Trim(match, "<>")]; ok {
			return s.expand(section)
		}
		return match // a test finds it
	})
}

var algorithms = map[limiter.Kind]sections{
	limiter.TokenBucket:      sectionsOf("token_bucket.lua", "bucket_parts.lua", "bucket_overflow.lua"),
	limiter.SlidingWindowLog: sectionsOf("sliding_log.lua", "sliding_log_events.lua", "lease_slots.lua"),
	limiter.SlidingWindow:    sectionsOf("sliding_window.lua"),
	limiter.FixedWindow:      sectionsOf("fixed_window.lua"),
}

// Announce returns the script by which nodes know of each other: see announce.lua.
func Announce() string { return read("prelude.lua") + read("announce.lua") }

// Nodes returns the script that lists the nodes: see nodes.lua.
func Nodes() string { return read("prelude.lua") + read("nodes.lua") }

// WantTop returns the script that asks nodes for their top keys: see top_want.lua.
func WantTop() string { return read("prelude.lua") + read("top_want.lua") }

// WriteTop returns the script that writes the top keys of one node: see top_write.lua.
func WriteTop() string { return read("prelude.lua") + read("top_write.lua") }

// ReadTop returns the script that reads the top keys of nodes: see top_read.lua.
func ReadTop() string { return read("prelude.lua") + read("top_read.lua") }

// Permits returns the script that answers requests for permits: see permits.lua.
func Permits() string { return read("prelude.lua") + read("permits.lua") }

// ReadRules returns the script that reads a version of the rules: see rules_read.lua.
func ReadRules() string { return read("rules_read.lua") }

// ListRules returns the script that lists versions of the rules: see rules_list.lua.
func ListRules() string { return read("rules_list.lua") }

// WriteRules returns the script that writes a version of the rules: see rules_write.lua.
func WriteRules() string { return read("rules_write.lua") + read("rules_trim.lua") }

// CompleteRules returns the script that keeps a document of the rules whole: see rules_complete.lua.
func CompleteRules() string { return read("rules_complete.lua") }

// Take returns the script that decides takes under rules of these algorithms: see take.lua.
func Take(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.WriteString(b.list("", "<advance>\nlocal allows_N = <allows>\n"))
	b.WriteString("local takes, allowed = ARGV[2] == 'take', " + b.list(" and ", "allows_N") + "\n")
	b.WriteString(b.list("", read("take.lua")))
	return b.finish("allows_N and 1 or 0, breach_N, at_N, <reply>")
}

// Refund returns the script that refunds takes under rules of these algorithms: see refund.lua.
func Refund(kinds []limiter.Kind) string {
	return each(kinds, "<advance>\n"+read("refund.lua"), "")
}

// GiveBack returns the script that gives back what buckets have promised: see give_back.lua.
func GiveBack(kinds []limiter.Kind) string {
	return each(kinds, "<advance>\n"+read("give_back.lua"), "back_N")
}

// Charge returns the script that charges counts under rules of these algorithms: see charge.lua.
func Charge(kinds []limiter.Kind) string {
	return each(kinds, "<advance>\n"+read("charge.lua"), "")
}

// Reset returns the script that resets counts under rules of these algorithms: see reset.lua.
func Reset(kinds []limiter.Kind) string {
	return each(kinds, read("reset.lua"), "")
}

// AddQuota returns the script that gives back events under rules of these algorithms: see
// add_quota.lua.
func AddQuota(kinds []limiter.Kind) string {
	return each(kinds, "<advance>\n"+read("add_quota.lua"), "at_N, <reply>")
}

// Lend returns the script that answers lease requests under rules of these algorithms: see
// lease_request.lua and lease_grant.lua.
func Lend(kinds []limiter.Kind) string {
	b := begin(kinds)
	b.WriteString("local allowed, incarnation = true, tonumber(ARGV[2])\n")
	b.WriteString(b.list("", read("lease_request.lua")) + b.list("", read("lease_grant.lua")))
	return b.finish("at_N, more_N, <lent>, <reply>")
}

// each returns a script that does what text says under each of the rules, and then replies.
func each(kinds []limiter.Kind, text, reply string) string {
	b := begin(kinds)
	b.WriteString(b.list("", text))
	return b.finish(reply)
}

// A builder writes a script for rules of the algorithms kinds.
type builder struct {
	strings.Builder
	kinds []limiter.Kind
}

// begin returns a builder whose script has read the states of all rules so far.
func begin(kinds []limiter.Kind) *builder {
	b := &builder{kinds: kinds}
	b.WriteString(read("prelude.lua") + read("muldiv.lua"))
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		b.WriteString(algorithms[kind].expand("<functions>\n"))
	}
	b.WriteString("local last, added, stored = now, 0, redis.call('HMGET', KEYS[1], '@', " + b.list(", ", "FIELD") + ")\n")
	b.WriteString(algorithms[kinds[0]].expand("<key>\n"))
	b.WriteString(b.list("", "<args>\n<read>\n<check>\n"))
	return b
}

// finish returns the script. The script returns reply for each rule, unless reply is empty.
func (b *builder) finish(reply string) string {
	b.WriteString(algorithms[b.kinds[0]].expand("<expire>\n"))
	if reply != "" {
		b.WriteString("local reply = {" + b.list(", ", reply) + "}\n")
		b.WriteString("if bad > 0 then reply[#reply + 1] = bad end\nreturn reply\n")
	}
	return b.String()
}

// list returns text for each rule, with the sections of its algorithm, joined by a separator.
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

// numbered returns text with n in place of N, and with the expressions for FIELD, VALUE and LOG:
// see args.lua.
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
