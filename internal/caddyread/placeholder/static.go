package placeholder

import (
	"fmt"
	"slices"
	"strings"
)

// CheckText returns an error if a text without braces is certainly meant as a placeholder. As a text,
// it would count all requests together.
func CheckText(text string) error {
	right := meant(text)
	if right != "" && FrequencyOf(Long(right)) != Stable {
		right = "client_ip"
	}
	switch {
	case right != "":
		return fmt.Errorf("%q is text, not a placeholder, so all requests would share one count: use {%s}, or `static` "+
			"for one count", text, right)
	case strings.ContainsAny(text, "{}.()"), hasPrefix(text, "$", "%", "@", "<"),
		hasSuffix(strings.ToLower(text), "_id", "-id", "userid"):
		return fmt.Errorf("%q has no placeholder, so all requests would share one count: use a placeholder such as "+
			"{client_ip} or {http.request.header.X-Api-Key}, or `static` for one count", text)
	}
	return nil
}

// meant returns the placeholder that a text certainly means. It returns "" if there is none.
func meant(text string) string {
	variable := hasPrefix(text, "$", "%", "@", "<") // as in other servers, templates and shells
	text = strings.TrimFunc(text, func(c rune) bool {
		return c < 0x80 && plain(string(c)) == "" && c != '?'
	})
	switch {
	case text == "":
		return ""
	case Long(text) != text:
		return text
	case hasPrefix(text, "http.") && Check(text) == nil, Provided(text) && !hasPrefix(text, "env.", "file."):
		return text
	}
	word := plain(text)
	switch lower := strings.ToLower(text); {
	case slices.Contains(addressWords, word), word == "remotehost":
		return "client_ip"
	case hasPrefix(lower, "x-"), isHeaderName(text):
		return "header." + text
	case slices.Contains(headerWords, lower):
		return headerOf(lower, text)
	case variable && strings.HasPrefix(lower, "http_"):
		return "header." + strings.ReplaceAll(text[len("http_"):], "_", "-")
	case strings.Contains(text, "."):
		return corrected(text)
	}
	if variable {
		return wordMeans(text)
	}
	return ""
}

// headerOf returns the placeholder that text means. lower is text in lower case, which is one of
// headerWords.
func headerOf(lower, text string) string {
	switch plain(lower) {
	case "cookie", "cookies":
		return "cookie.<name>"
	case "header", "headers":
		return "header.<name>"
	case "apikey":
		return "header.X-Api-Key"
	case "useragent":
		return "header.User-Agent"
	}
	return "header." + text
}
