package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The bounds of a summary.
const (
	summaryChanges = 5
	summaryValue   = 120 // bytes of a value
)

// summarize returns a line about changes that were made at the instant now. The line names only the
// first changes. The history has all of them.
func summarize(changes []Difference, now time.Time) string {
	texts := make([]string, min(len(changes), summaryChanges))
	for i, d := range changes[:len(texts)] {
		switch {
		case d.From == nil:
			texts[i] = d.Path + " added: " + summaryText(d.To)
		case d.To == nil && expiredEntry(d.From, now):
			texts[i] = d.Path + " expired: " + summaryText(d.From)
		case d.To == nil:
			texts[i] = d.Path + " removed: " + summaryText(d.From)
		default:
			texts[i] = d.Path + ": " + summaryText(d.From) + " to " + summaryText(d.To)
		}
	}
	line := strings.Join(texts, "; ")
	if more := len(changes) - len(texts); more > 0 {
		line += fmt.Sprintf("; and %d more", more)
	}
	return line
}

// expiredEntry reports whether an entry as JSON, or a part of one, is over at now.
func expiredEntry(value any, now time.Time) bool {
	entry, _ := value.(map[string]any)
	text, _ := entry["expires_at"].(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && expired(&at, now)
}

// unsummarized are the members that summaries leave out: what the path or the author says already,
// and keys, which may be secret, because summaries are logged.
var unsummarized = []string{"id", "created_at", "created_by", "started_by", "reason", "key", "key_base64"}

// summaryText returns JSON for people, without members that are unsummarized.
func summaryText(value any) string {
	object, isObject := value.(map[string]any)
	text, isText := value.(string)
	switch {
	case isObject:
		var members []string
		for _, name := range bothNames(object, nil) {
			if !slices.Contains(unsummarized, name) {
				members = append(members, name+" "+summaryText(object[name]))
			}
		}
		text = strings.Join(members, ", ")
	case !isText:
		encoded, _ := json.Marshal(value) // it was decoded from JSON
		text = string(encoded)
	}
	if len(text) > summaryValue {
		text = strings.ToValidUTF8(text[:summaryValue], "") + "..."
	}
	return text
}
