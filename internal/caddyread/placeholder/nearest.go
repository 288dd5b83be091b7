package placeholder

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// corrected returns the placeholder of Caddy that a wrong name certainly means. It returns "" if there
// is none.
func corrected(name string) string {
	if right := others[strings.ToLower(name)]; right != "" {
		return right
	}
	rest, cut := name, false
	for _, prefix := range []string{"http.request.", "http.req.", "http.", "request.", "req.", "caddy."} {
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			rest, cut = name[len(prefix):], true
			break
		}
	}
	if right := oldSyntax(rest); right != "" {
		return right
	}
	// A single word, such as {real_ip} or {header}, may be a placeholder that `map` defines.
	alone := !cut && !strings.ContainsAny(rest, ".:[")
	if right := wordMeans(rest); right != "" && !(alone && strings.Contains(right, ".")) {
		return right
	}
	word := plain(rest)
	if slices.Contains(addressWords, word) && (cut || word == "remoteip" || word == "remoteaddr") {
		return "client_ip"
	}
	return misspelled(name)
}

// wordMeans returns the shorthand that word means. They may differ in case and punctuation, or in the
// name of the family, as in `client.ip` and `headers.X-Api-Key`. If word only lacks `http.request.`,
// wordMeans returns the full name. It returns "" for other words.
func wordMeans(word string) string {
	if Long(word) != word {
		return word
	}
	letters := plain(word)
	for _, s := range shorthands {
		if !strings.HasSuffix(s, ".") && plain(s) == letters {
			return s
		}
	}
	end := strings.IndexAny(word, ".:[")
	if end < 0 {
		end = len(word)
	}
	shorthand := families[plain(word[:end])]
	if shorthand == "" {
		if full := "http.request." + word; strings.Contains(word, ".") && Provided(full) {
			return full
		}
		return ""
	}
	field := strings.Trim(word[end:], `.:[]"'`)
	if !isToken(field) {
		field = "<name>"
	}
	return strings.TrimSuffix(Long(shorthand+"x"), "x") + field
}

// oldSyntax returns the shorthand that a name means in Caddy 1, as `{>X-Api-Key}` does, or that of the
// header called name. It returns "" for other names.
func oldSyntax(name string) string {
	for mark, family := range map[string]string{">": "header.", "~": "cookie.", "?": "query."} {
		if field, ok := strings.CutPrefix(name, mark); ok && isToken(field) {
			return family + field
		}
	}
	if isHeaderName(name) {
		return "header." + name
	}
	return ""
}

// isHeaderName reports whether text is certainly the name of a header.
func isHeaderName(text string) bool {
	lower := strings.ToLower(text)
	return isToken(text) && !strings.Contains(text, ".") &&
		(hasPrefix(lower, "x-") || hasSuffix(lower, "-client-ip", "-connecting-ip") || lower == "authorization")
}

// plain returns s in lower case without punctuation.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(s))
}

// misspelled returns the name in `http.request.` that differs from name in case, or in one or two
// letters. It returns "" if there is none. In a short name, no letter may differ.
func misspelled(name string) string {
	const namespace = "http.request."
	if !hasPrefix(strings.ToLower(name), namespace) {
		return ""
	}
	best, distance := "", min((len(name)-len(namespace))/5, 2)+1
	for _, n := range names {
		right, like := complete(n, name)
		if !like {
			continue
		}
		written, _, _ := strings.Cut(right, ".<name>")
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(written)); d < distance {
			best, distance = right, d
		}
	}
	return best
}

// complete returns right, with the end of name if right takes a name. It reports whether name may be a
// misspelling of right: both have equally many words.
func complete(right, name string) (string, bool) {
	dots := strings.Count(name, ".")
	if !strings.HasSuffix(right, ".") {
		return right, strings.Count(right, ".") == dots
	}
	words := strings.Count(right, ".")
	if dots == words-1 {
		return example(right), true
	}
	at := -1
	for range words {
		next := strings.IndexByte(name[at+1:], '.')
		if next < 0 {
			return "", false
		}
		at += 1 + next
	}
	return right + name[at+1:], !hasSuffix(right, ".path.", ".labels.", ".dns_names.", ".emails.", ".ips.", ".uris.")
}

// Nearest returns the placeholder of Caddy that name resembles, maybe by coincidence. It returns "" if
// there is none.
func Nearest(name string) string {
	if right := corrected(name); right != "" {
		return right
	}
	if hasPrefix(strings.TrimPrefix(name, "http."), "jwt.", "claims.", "token.", "oidc.", "user.") {
		return "http.auth.user.id"
	}
	best, distance := "", 3
	for _, n := range slices.Concat(shorthands, names) {
		if strings.HasSuffix(n, ".") || len(n) < 5 {
			continue
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(name), n); d < distance {
			best, distance = n, d
		}
	}
	return best
}
