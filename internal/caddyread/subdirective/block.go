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

// A Block describes the lines that a block in braces may have.
type Block struct {
	Of         string // what the block belongs to, for error texts
	Lines      map[string]Line
	Other      *Line // reads lines with other first words, and gets the first word as an argument; nil if they are errors
	Optional   bool  // the block may be left out
	MayBeEmpty bool  // the block may be empty

	// Remedies has texts such as "use `limit`", which say what to use instead of a word of other blocks
	// and programs.
	Remedies map[string]string
}

// A Line describes one subdirective of a block.
type Line struct {
	Usage    string // how to write the line, for error texts
	Min, Max int    // bounds of the number of arguments; Max may be AnyNumber
	Raw      bool   // Block reads the arguments from the Caddyfile itself, and gets none
	Words    bool   // an argument with spaces, as from quotes or import, counts as several arguments
	Repeats  bool   // the line may occur several times, and each adds to the setting

	// Parse gets the arguments. The place of the line is added to its errors.
	Parse func(args []string) error

	// Block replaces Parse if a block may follow the arguments. It reads that block. Its errors must
	// have their place.
	Block func(args []string) error
}

// AnyNumber is the value of Max if there is no bound.
const AnyNumber = math.MaxInt

// Parse reads the block that opens after the current token of d.
func (b Block) Parse(d *caddyfile.Dispenser) error {
	_, err := b.Read(d)
	return err
}

// Read reads the block like Parse. It returns the place of the first occurrence of each subdirective.
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

// read reads the rest of the line behind the current token of d. args are arguments that come before
// those of the line.
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

// words returns the words in args if l has Words, and args otherwise.
func (l *Line) words(args []string) (words []string) {
	if !l.Words {
		return args
	}
	for _, arg := range args {
		if in := strings.Fields(arg); len(in) > 0 {
			words = append(words, in...)
		} else {
			words = append(words, "") // read returns an error for it
		}
	}
	return words
}

// Here returns a copy of d, with which a later error can name this place.
func Here(d *caddyfile.Dispenser) *caddyfile.Dispenser {
	here := *d
	return &here
}

// OpensBlock reports whether the next token of d opens a block, on the line of the current token.
func OpensBlock(d *caddyfile.Dispenser) bool {
	ahead := Here(d)
	return !ahead.NextLine() && ahead.Next() && ahead.Val() == "{" && !ahead.Token().Quoted()
}

// remedy returns a text that says what to use instead of an unknown word.
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
