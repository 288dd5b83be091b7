package pathpattern

import (
	"net/url"
	"slices"
	"strings"
)

// Samples returns some paths that pattern matches, as clients send them. words are texts such as /api,
// which stand in place of the wildcards where the pattern then matches.
func Samples(pattern string, words []string) (samples []*url.URL) {
	p := Compile(pattern)
	add := func(escaped string) {
		u, err := url.ParseRequestURI(escaped)
		if err != nil || u.Host != "" || !strings.HasPrefix(escaped, "/") || strings.Contains(escaped, "//") {
			return
		}
		same := func(other *url.URL) bool { return *other == *u }
		if p.Match(sample(strings.ToLower(u.Path))) && !slices.ContainsFunc(samples, same) {
			samples = append(samples, u)
		}
	}
	plain := strings.NewReplacer("%*", "x", "[", "", "]", "", `\`, "", "?", "x").Replace(pattern)
	start, end, wild := strings.Cut(plain, "*")
	end = strings.ReplaceAll(end, "*", "x")
	if !wild {
		add(start)
		return samples
	}
	for _, middle := range append([]string{"x", "x/x", ""}, words...) {
		for _, middle := range []string{middle, strings.Trim(middle, "/"), middle + "/x", "x" + middle} {
			for _, slash := range []string{"", "/"} {
				add(start + middle + end)
				add(slash + start + middle + end)
			}
		}
	}
	for _, word := range words {
		add(word)
		add(strings.TrimRight(word, "/") + "/x")
	}
	return samples
}

// sample is a path with one reading.
type sample string

func (s sample) Path() string    { return string(s) }
func (s sample) Merged() string  { return string(s) }
func (s sample) Escaped() string { return string(s) }
