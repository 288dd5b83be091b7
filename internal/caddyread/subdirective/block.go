// Package subdirective reads blocks of a Caddyfile strictly: it refuses unknown and repeated lines,
// wrong numbers of arguments, and blocks where there should be none.
package subdirective

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// A Block describes the lines that may be between two braces.
type Block struct {
	Of         string // what the block belongs to, for errors
	Lines      map[string]Line
	Other      *Line // reads lines that begin with any other word, its first argument; nil: they are errors
	Optional   bool  // there may be no block
	MayBeEmpty bool  // an empty block has a meaning

	// Remedies are what to use instead of words that other blocks and programs have, as in "use
	// `limit`".
	Remedies map[string]string
}

// A Line describes one subdirective of a block.
type Line struct {
	Usage    string // how to write it, for errors
	Min, Max int    // how many arguments it has; AnyNumber for no bound
	Raw      bool   // Block reads the arguments itself and gets none
	Words    bool   // arguments have no spaces: one that has some, as in quotes or from import, is several
	Repeats  bool   // it may occur more than once, and adds to what is there

	// Parse gets the arguments. Its errors get the place of the line.
	Parse func(args []string) error

	// Block is in place of Parse where a block may follow the arguments, which it reads. Its errors have
	// their places.
	Block func(args []string) error
}

// AnyNumber is the bound of what has none.
const AnyNumber = math.MaxInt

// Parse reads the block that opens after the current token of d.
func (b Block) Parse(d *caddyfile.Dispenser) error {
	_, err := b.Read(d)
	return err
}

// Read does the same and returns where each subdirective first occurs.
func (b Block) Read(d *caddyfile.Dispenser) (map[string]*caddyfile.Dispenser, error) {
	if !OpensBlock(d) {
		if b.Optional {
			return nil, nil
		}
		return nil, d.Errf("%s needs a block: use { at the end of this line", b.Of)
	}
	seen := make(map[string]*caddyfile.Dispenser)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		var args []string
		l, known := b.Lines[name]
		if !known {
			if b.Other == nil || b.Remedies[name] != "" {
				return nil, d.Errf("unrecognized subdirective %q in %s: %s", name, b.Of, b.remedy(name))
			}
			l, args = *b.Other, []string{name}
		}
		if first := seen[name]; first == nil {
			seen[name] = Here(d)
		} else if !l.Repeats {
			return nil, d.Errf("%s is already specified at %s:%d: use it once", name, first.File(), first.Line())
		}
		if err := l.read(d, args); err != nil {
			return nil, err
		}
	}
	if len(seen) == 0 && !b.MayBeEmpty {
		return nil, d.Errf("the block of %s is empty: use at least one subdirective in it, or no block", b.Of)
	}
	return seen, nil
}

// read reads the rest of the line after the current token of d, and adds its arguments to args.
func (l *Line) read(d *caddyfile.Dispenser, args []string) error {
	if !l.Raw {
		args = append(args, l.words(d.RemainingArgs())...)
		if l.Max == 0 && len(args) > 0 {
			return d.Errf("unexpected %q: use `%s`", args[0], l.Usage)
		}
		if len(args) == 0 && l.Min > 0 {
			return d.Errf("an argument is missing: use `%s`, with {$NAME:<default>} for a variable that may be unset", l.Usage)
		}
		if len(args) < l.Min || len(args) > l.Max {
			return d.Errf("wrong number of arguments: use `%s`", l.Usage)
		}
		if slices.Contains(args, "") {
			return d.Errf("an argument is empty: use `%s`", l.Usage)
		}
	}
	if l.Block != nil {
		if err := l.Block(args); err != nil {
			return err
		}
	} else if err := l.Parse(args); err != nil {
		return d.WrapErr(err)
	}
	if d.NextArg() {
		return d.Errf("unexpected %q: use `%s`", d.Val(), l.Usage)
	}
	if OpensBlock(d) {
		return d.Errf("unexpected block: use `%s` without one", l.Usage)
	}
	return nil
}

// words returns the words of arguments, if they are such.
func (l *Line) words(args []string) (words []string) {
	if !l.Words {
		return args
	}
	for _, arg := range args {
		if in := strings.Fields(arg); len(in) > 0 {
			words = append(words, in...)
		} else {
			words = append(words, "") // an error
		}
	}
	return words
}

// Here returns a copy of d for errors about this place that are found later.
func Here(d *caddyfile.Dispenser) *caddyfile.Dispenser {
	here := *d
	return &here
}

// OpensBlock reports whether the next token of d opens a block on the line of the current one.
func OpensBlock(d *caddyfile.Dispenser) bool {
	ahead := Here(d)
	return !ahead.NextLine() && ahead.Next() && ahead.Val() == "{" && !ahead.Token().Quoted()
}

// remedy says what to use instead of an unknown word.
func (b Block) remedy(name string) string {
	if remedy := b.Remedies[strings.ReplaceAll(strings.ToLower(name), "-", "_")]; remedy != "" {
		return remedy
	}
	if word, value, found := strings.Cut(name, "="); found || strings.HasSuffix(name, ":") {
		word = strings.TrimRight(word, ":")
		if _, known := b.Lines[word]; known {
			return fmt.Sprintf("use `%s`", strings.TrimSpace(word+" "+value))
		}
		return b.remedy(word)
	}
	if word, _, found := strings.Cut(name, " "); found {
		if _, known := b.Lines[word]; known {
			return fmt.Sprintf("use `%s` without quotes around all of it", name)
		}
	}
	names := slices.Sorted(maps.Keys(b.Lines))
	if nearest := spelling.Nearest(name, names); nearest != "" {
		return fmt.Sprintf("did you mean %s?", nearest)
	}
	return "use one of " + strings.Join(names, ", ")
}
