package fleetlimit

import (
	"fmt"
	"strings"
)

// templatePiece is a text or the name of a placeholder in a template.
type templatePiece struct {
	text        string
	placeholder bool
}

// splitTemplate cuts raw where Caddy's replacer does: `\{` and `\}` are braces, a `}` without a `{` is a brace, and what
// an expanded placeholder yields is not read again. What the replacer leaves as it is or expands to nothing because of a
// typing error is refused.
func splitTemplate(raw string) ([]templatePiece, error) {
	var pieces []templatePiece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			pieces = append(pieces, templatePiece{text: text.String()})
			text.Reset()
		}
	}
	from := 0 // start of the text that is not yet written
	for i := 0; i < len(raw); i++ {
		if raw[i] != '{' && raw[i] != '}' {
			continue
		}
		if i > 0 && raw[i-1] == '\\' {
			text.WriteString(raw[from : i-1])
			from = i
			continue
		}
		if raw[i] == '}' {
			continue
		}
		end := closingBrace(raw, i)
		if end < 0 {
			return nil, fmt.Errorf(`%q is not closed: write "}" after the name of the placeholder, or "\{" for a brace`, raw[i:])
		}
		name := raw[i+1 : end]
		if err := checkName(name); err != nil {
			return nil, err
		}
		text.WriteString(raw[from:i])
		flush()
		pieces = append(pieces, templatePiece{text: name, placeholder: true})
		i, from = end, end+1
	}
	text.WriteString(raw[from:])
	flush()
	return pieces, nil
}

// closingBrace returns the index of the brace that closes the placeholder which opens at open, or -1. A brace after a
// backslash does not close it, except at the very end of raw, as the replacer has it.
func closingBrace(raw string, open int) int {
	end := open
	for {
		next := strings.IndexByte(raw[end+1:], '}')
		if next < 0 {
			return -1
		}
		end += next + 1
		if raw[end-1] != '\\' || end == len(raw)-1 {
			return end
		}
	}
}

// checkName refuses names that no placeholder can have, which the replacer expands to nothing.
func checkName(name string) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf(`"{%s}" names no placeholder: write one, such as {http.request.header.X-Api-Key}, or "\{" for a `+
			`brace`, name)
	}
	if strings.TrimSpace(name) != name {
		return fmt.Errorf(`"{%s}" has spaces around the name: write "{%s}"`, name, strings.TrimSpace(name))
	}
	for i := range len(name) {
		if name[i] == '{' && (i == 0 || name[i-1] != '\\') {
			return fmt.Errorf(`"{%s}" has a brace in the name: placeholders do not nest; write "\{" for a brace`, name)
		}
	}
	for _, prefix := range []string{headerPrefix, queryPrefix, cookiePrefix, varPrefix} {
		if name == prefix {
			return fmt.Errorf(`"{%s}" ends too early: write a name after the dot`, name)
		}
	}
	return nil
}
