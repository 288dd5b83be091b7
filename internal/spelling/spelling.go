// Package spelling finds the word that a misspelled one stands for.
package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// Synonyms are words that other programs use, with the ones to use instead.
type Synonyms map[string]string

// DidYouMean ends an error about an unknown word. It asks for the word that synonyms have for it,
// or else for the nearest of words. It is empty if there is none.
func DidYouMean(word string, words []string, synonyms Synonyms) string {
	meant := synonyms[plain(word)]
	if meant == "" {
		meant = Nearest(word, words)
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", meant)
}

// Nearest returns the one of words that differs least from word, or the only one that word is a
// part of. Case does not count, and a hyphen or space is a _. It returns "" if none is near.
func Nearest(word string, words []string) string {
	word = plain(word)
	best, least := "", len(word)
	for _, w := range words {
		if d := distance(word, plain(w)); d <= typos(word, w) && d < least {
			best, least = w, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	partOf := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		w = plain(w)
		return !strings.HasPrefix(w, word) && !slices.Contains(strings.Split(w, "_"), word)
	})
	if len(partOf) == 1 {
		return partOf[0]
	}
	return ""
}

// plain returns word without what makes no other word of it.
func plain(word string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
}

// typos is the largest distance at which two words are still near. Short words differ from many.
func typos(a, b string) int {
	switch n := min(len(a), len(b)); {
	case n < 3:
		return 0
	case n < 5:
		return 1
	}
	return 2
}

// distance returns how many letters to insert, remove, replace, or swap with the next one make b of
// a.
func distance(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	before, above, now := row(), row(), row() // the last three rows of the table of distances
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			replaced := above[j]
			if a[i] != b[j] {
				replaced++
			}
			now[j+1] = min(above[j+1]+1, now[j]+1, replaced)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, above, now = above, now, before
	}
	return above[len(b)]
}
