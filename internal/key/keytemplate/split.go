package keytemplate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
)

// split splits raw into texts and placeholders in the same places as Caddy's replacer: `\{` and `\}`
// are braces, and so is a `}` without a `{`. It returns an error for typing errors that the replacer
// would leave in the text or expand to nothing.
func split(raw string) ([]part, error) {
	var parts []part
	var text strings.Builder
	from := 0 // raw[:from] is already in parts or text
	for i := 0; i < len(raw); i++ {
		if (raw[i] == '{' || raw[i] == '}') && i > 0 && raw[i-1] == '\\' {
			text.WriteString(raw[from : i-1])
			from = i
			continue
		}
		if raw[i] != '{' {
			continue
		}
		end := closingBrace(raw, i)
		if end < 0 {
			return nil, fmt.Errorf(`%q is not closed: use "}" after the name of the placeholder, or "\{" for a brace`, raw[i:])
		}
		name := raw[i+1 : end]
		if err := checkName(name); err != nil {
			return nil, err
		}
		parts = append(parts, part{text: text.String() + raw[from:i]}, part{name: name})
		text.Reset()
		from, i = end+1, end
	}
	parts = append(parts, part{text: text.String() + raw[from:]})
	return slices.DeleteFunc(parts, func(p part) bool { return p.text == "" && p.name == "" }), nil
}

// closingBrace returns the index of the brace that closes the placeholder at open, or -1 if no brace
// does. As in the replacer, a brace after a backslash does not close a placeholder, except at the end
// of raw.
func closingBrace(raw string, open int) int {
	for end := open + 1; end < len(raw); end++ {
		if raw[end] == '}' && (raw[end-1] != '\\' || end == len(raw)-1) {
			return end
		}
	}
	return -1
}

// checkName returns an error if no placeholder can have this name, because the replacer would expand it
// to nothing.
func checkName(name string) error {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return fmt.Errorf(`"{%s}" names no placeholder: use one such as {http.request.header.X-Api-Key}, or "\{" for a `+
			`brace`, name)
	case trimmed != name:
		return fmt.Errorf(`"{%s}" has spaces around the name: use "{%s}"`, name, trimmed)
	case strings.Contains(strings.ReplaceAll(name, `\{`, ""), "{"):
		return fmt.Errorf(`"{%s}" has a brace in the name, but placeholders do not nest: use "\{" for a brace`, name)
	}
	long := placeholder.Long(name)
	switch long {
	case headerPrefix, queryPrefix, cookiePrefix, varPrefix:
		return fmt.Errorf(`"{%s}" ends too early: use a name after the dot`, name)
	}
	for _, prefix := range []string{queryPrefix, cookiePrefix} {
		if field, ok := strings.CutPrefix(long, prefix); ok && len(field) > maxNameLen {
			return fmt.Errorf(`"{%s}" has a name of %d bytes: use one of at most %d`, name, len(field), maxNameLen)
		}
	}
	return nil
}
