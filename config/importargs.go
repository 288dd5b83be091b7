package config

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Caddy silently drops arguments of import that a snippet does not use: with `import lim 60/1m
// burst 20`, a snippet that uses {args[0]} alone has no burst. Only the text of the Caddyfile still
// has the dropped arguments, so checkImport reads the Caddyfile, if that is a file.

// importedBy matches the end of an error of Caddy: the file and the line of the import that a place
// comes from, and the name of the snippet.
var importedBy = regexp.MustCompile(`import chain \['([^']*):(\d+) \(import ?([^')]*)\)'\]$`)

// argument matches a placeholder of one argument, or of several, in an imported text.
var argument = regexp.MustCompile(`\{args(?:\.(\d+)|\[(\d*:?\d*)\])\}`)

// checkImport returns an error if place is imported with arguments that nothing uses. sources has
// the tokens of files that were read.
func checkImport(place *caddyfile.Dispenser, sources map[string][]caddyfile.Token) error {
	by := importedBy.FindStringSubmatch(place.Err("").Error())
	if by == nil {
		return nil
	}
	line, _ := strconv.Atoi(by[2])
	snippet, args := by[3], importArguments(tokensOf(by[1], sources), line, by[3])
	used := usedArguments(imported(tokensOf(place.File(), sources), snippet))
	if used < 0 || used >= len(args) || slices.ContainsFunc(args, argument.MatchString) {
		return nil
	}
	return place.Errf("import has %d arguments, and what it imports uses %d, so %q is lost: use quotes around words that belong "+
		`together, such as import %s "60/1m burst 20", or {args[:]} in what is imported`, len(args), used, strings.Join(args[used:], " "), snippet)
}

// tokensOf returns the tokens of a file. It returns none if the file cannot be read.
func tokensOf(file string, sources map[string][]caddyfile.Token) []caddyfile.Token {
	if tokens, known := sources[file]; known {
		return tokens
	}
	text, err := os.ReadFile(file)
	if err == nil {
		sources[file], _ = caddyfile.Tokenize(text, file)
	}
	return sources[file]
}

// importArguments returns the arguments of the import on a line. snippet is the name of the snippet
// that is imported, or "" for a file.
func importArguments(tokens []caddyfile.Token, line int, snippet string) (args []string) {
	start := slices.IndexFunc(tokens, func(t caddyfile.Token) bool { return t.Line == line && t.Text == "import" })
	if start < 0 || start+1 == len(tokens) || snippet != "" && tokens[start+1].Text != snippet {
		return nil
	}
	for _, t := range tokens[start+2:] {
		if t.Line != line || t.Text == "{" && !t.Quoted() {
			break
		}
		args = append(args, t.Text)
	}
	return args
}

// imported returns the tokens of a snippet, or all tokens if snippet is "".
func imported(tokens []caddyfile.Token, snippet string) []caddyfile.Token {
	if snippet == "" {
		return tokens
	}
	start := slices.IndexFunc(tokens, func(t caddyfile.Token) bool { return t.Text == "("+snippet+")" })
	if start < 0 {
		return nil
	}
	depth := 0
	for i, t := range tokens[start:] {
		switch {
		case t.Quoted():
		case t.Text == "{":
			depth++
		case t.Text == "}":
			if depth--; depth == 0 {
				return tokens[start : start+i]
			}
		}
	}
	return nil
}

// usedArguments returns how many arguments tokens use. It returns -1 if the number is not known.
func usedArguments(tokens []caddyfile.Token) (used int) {
	if len(tokens) == 0 {
		return -1
	}
	for _, t := range tokens {
		for _, m := range argument.FindAllStringSubmatch(t.Text, -1) {
			n, err := strconv.Atoi(m[1] + m[2])
			if err != nil {
				return -1 // a range of arguments
			}
			used = max(used, n+1)
		}
	}
	return used
}
