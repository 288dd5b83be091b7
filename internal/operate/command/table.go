package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// A table aligns the cells of its rows for people to read.
type table struct {
	*tabwriter.Writer
	etag string // ETag of the answer: the version of the rules
}

func newTable(w io.Writer) *table {
	const gap = 2 // between columns
	return &table{Writer: tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)}
}

// row writes cells. It writes an empty cell as "-".
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = cell(c)
	}
	_, _ = fmt.Fprintln(t, strings.Join(texts, "\t")) // Flush reports errors
}

// rowIf writes a row of two cells unless the second is empty.
func (t *table) rowIf(name, text string) {
	if text != "" {
		t.row(name, text)
	}
}

// line writes a line that is not aligned.
func (t *table) line(format string, args ...any) {
	_ = t.Flush() // the last Flush reports errors
	_, _ = fmt.Fprintf(t, format+"\n", args...)
}

func cell(c any) string {
	text := ""
	switch c := c.(type) {
	case nil:
	case string:
		text = printable(c)
	case time.Time:
		if !c.IsZero() {
			text = c.UTC().Format(time.RFC3339)
		}
	case *time.Time:
		if c != nil {
			text = c.UTC().Format(time.RFC3339)
		}
	case map[string]any, []any:
		json, _ := json.Marshal(c) // it was unmarshalled from JSON
		text = printable(string(json))
	default:
		text = fmt.Sprint(c)
	}
	if text == "" {
		return "-"
	}
	return text
}

// prefixed returns a text with a prefix, or "" if text is "".
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// counted returns a number in a format, or "" if n is 0.
func counted(format string, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// printable returns a text that stays on its line and in its cell, and has no control characters
// for a terminal: clients may have written keys and reasons.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
