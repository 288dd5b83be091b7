package config

import (
	"fmt"
	"slices"
	"strings"
)

// The words of Zone.OnMissingKey. Any other text is a template.
const (
	OnMissingSkip   = "skip"
	OnMissingDeny   = "deny"
	OnMissingShared = "shared"
)

// cutTemplate returns the template at the start of a text and, if a rate follows it, the words of
// the rate.
func cutTemplate(text string) []string {
	words := strings.Fields(text)
	for i := 1; i < len(words); i++ {
		if _, err := parseRate(words[i:]); err == nil {
			return append([]string{strings.Join(words[:i], " ")}, words[i:]...)
		}
	}
	return []string{text}
}

// CheckOnMissingKey refuses a text that is neither a word of on_missing_key nor a template. Such a
// text would be one key, whose count all clients without a key share. limit is the limit of
// requests without a key.
func CheckOnMissingKey(text string, limit *Limit) error {
	words := strings.Fields(strings.ReplaceAll(text, "}", "} ")) // {client_ip}10/1m has a rate too
	rate := slices.IndexFunc(words, func(word string) bool {
		_, err := parseEventsPerWindow(word)
		return err == nil
	})
	switch {
	case (text == OnMissingSkip || text == OnMissingDeny) && limit != nil:
		return fmt.Errorf("on_missing_key %s has no limit: use it without one, or {client_ip} or shared in its place", text)
	case text == "", text == OnMissingSkip, text == OnMissingDeny, text == OnMissingShared:
		return nil
	case rate >= 0:
		key := strings.Join(words[:rate], " ")
		if key == "" || key == OnMissingSkip || key == OnMissingDeny {
			key = "{client_ip}"
		}
		return fmt.Errorf("on_missing_key has a rate in the text %q: use `on_missing_key %s %s` without quotes, or in JSON "+
			"on_missing_limit for the rate", text, key, strings.Join(words[rate:], " "))
	case strings.Contains(text, "{"):
		return nil
	}
	right := remedies["setting on_missing_key"][strings.ToLower(text)]
	if right == "" && len(words) == 1 && strings.Contains(text, ".") {
		right = "{" + text + "}"
	}
	if right != "" {
		return fmt.Errorf("on_missing_key is %q: use %s", text, right)
	}
	return fmt.Errorf("on_missing_key is %q, which has no placeholder: use `shared` to count all requests without a key "+
		"together, or a template such as {client_ip}, or skip, or deny", text)
}
