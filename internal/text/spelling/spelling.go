// Package spelling finds the word that a misspelled one stands for.
package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Synonyms are words that other programs use, with the ones to use instead.
type Synonyms map[string]string

// UnknownWord returns the error about a value that is none of the words of its setting, which are
// two or more. It asks for the word that synonyms have for it, or else for the nearest of words.
func UnknownWord(setting, value string, words []string, synonyms Synonyms) error {
	last, question := len(words)-1, ""
	if meant := cmp.Or(synonyms[plain(value)], Nearest(value, words)); meant != "" {
		question = fmt.Sprintf("; did you mean %s?", meant)
	}
	if last == 0 {
		return fmt.Errorf("%s is %q: use %s%s", setting, value, words[0], question)
	}
	return fmt.Errorf("%s is %q: use %s or %s%s", setting, value, strings.Join(words[:last], ", "), words[last], question)
}

// Nearest returns the one of words that differs least from word, or the only one that word is a
// part of. Case does not count, and a hyphen or space is a _. It returns "" if none is near.
func Nearest(word string, words []string) string {
	word = plain(word)
	best, least, length := "", len(word), utf8.RuneCountInString(word)
	for _, w := range words {
		if longer := length - utf8.RuneCountInString(w); longer > mostTypos || longer < -mostTypos {
			continue // whatever their letters are, which takes long to find out of a long word
		}
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

// mostTypos is the largest result of typos.
const mostTypos = 2

// typos is the largest distance at which two words are still near. Short words differ from many.
func typos(a, b string) int {
	switch n := min(len(a), len(b)); {
	case n < 3:
		return 0
	case n < 5:
		return 1
	}
	return mostTypos
}

// distance returns how many letters to insert, remove or replace make b of a. Two letters in the
// wrong order count as one.
func distance(a, b string) int {
	d := levenshtein.ComputeDistance(a, b)
	if d == 2 && len(a) == len(b) && slices.Equal(slices.Sorted(strings.SplitSeq(a, "")), slices.Sorted(strings.SplitSeq(b, ""))) {
		return 1
	}
	return d
}
