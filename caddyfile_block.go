package fleetlimit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// A block is what may stand between two braces of a Caddyfile. It is read strictly: every line is one that is known, is
// there once unless it may repeat, and has the arguments and the block it should have and no others.
type block struct {
	of         string // what the block belongs to, for errors
	lines      map[string]line
	other      *line // lines that begin with any other word, which is their first argument; nil: such a line is an error
	mayBeEmpty bool  // an empty block says something too
}

// A line is one subdirective of a block.
type line struct {
	usage    string // how to write it, for errors
	min, max int    // how many arguments it has; anyNumber: no bound
	raw      bool   // parse reads the arguments itself and gets none
	repeats  bool   // it may be there more than once, and adds to what is there

	// parse gets the arguments; the block that may follow them is its to read.
	parse func(args []string) error
}

// anyNumber is the number of arguments that a line without a bound may have.
const anyNumber = 1 << 30

// read reads the block that follows the current token of d on its line. It returns where each subdirective was first.
func (b *block) read(d *caddyfile.Dispenser) (map[string]*caddyfile.Dispenser, error) {
	if !opensBlock(d) {
		return nil, d.Errf("%s needs a block: open it with { at the end of this line", b.of)
	}
	seen := make(map[string]*caddyfile.Dispenser)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		var args []string
		l, known := b.lines[name]
		if !known {
			if b.other == nil {
				return nil, d.Errf("unrecognized subdirective %q in %s: %s", name, b.of, suggestion(name, b.lines))
			}
			l, args = *b.other, []string{name}
		}
		if first := seen[name]; first == nil {
			seen[name] = here(d)
		} else if !l.repeats {
			return nil, d.Errf("%s is already specified at %s:%d: remove one of the two", name, first.File(), first.Line())
		}
		if err := l.read(d, args); err != nil {
			return nil, err
		}
	}
	if len(seen) == 0 && !b.mayBeEmpty {
		return nil, d.Errf("the block of %s is empty: fill it, or remove it", b.of)
	}
	return seen, nil
}

// read reads the rest of the line after the current token of d. Its arguments are added to args.
func (l *line) read(d *caddyfile.Dispenser, args []string) error {
	if !l.raw {
		args = append(args, d.RemainingArgs()...)
		if len(args) < l.min || len(args) > l.max {
			return d.Errf("wrong number of arguments: say `%s`", l.usage)
		}
		if slices.Contains(args, "") {
			return d.Errf("an argument is empty: say `%s`", l.usage)
		}
	}
	if err := l.parse(args); err != nil {
		return err
	}
	if d.NextArg() {
		return d.Errf("unexpected %q: say `%s`", d.Val(), l.usage)
	}
	if opensBlock(d) {
		return d.Errf("unexpected block: say `%s` without one", l.usage)
	}
	return nil
}

// here returns d as it is now, to place errors that are found later.
func here(d *caddyfile.Dispenser) *caddyfile.Dispenser {
	place := *d
	return &place
}

// opensBlock reports whether the next token of d opens a block on the line of the current one.
func opensBlock(d *caddyfile.Dispenser) bool {
	ahead := here(d)
	return !ahead.NextLine() && ahead.Next() && ahead.Val() == "{" && !ahead.Token().Quoted()
}

// suggestion says what may stand instead of name: the word that is spelled most like it, else all there are.
func suggestion(name string, known map[string]line) string {
	names := slices.Sorted(maps.Keys(known))
	best, distance := "", 3
	for _, n := range names {
		if d := editDistance(name, n); d < distance {
			best, distance = n, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "say one of " + strings.Join(names, ", ")
}

// editDistance returns how many letters must be inserted, removed or replaced to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the part of a so far to every beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
