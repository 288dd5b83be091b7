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

// Synonyms map words of other programs to the words to use instead.
type Synonyms map[string]string

// UnknownWord returns the error about a value that is none of the words of its setting. The error asks
// whether the value means its synonym, or otherwise the nearest of words.
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

// Nearest returns the word in words that differs least from word. If none is near, it returns the word
// of which word is a part, if there is exactly one, and "" otherwise. Case does not count, and a hyphen
// or a space counts as a _.
func Nearest(word string, words []string) string {
	word = plain(word)
	best, least, length := "", len(word), utf8.RuneCountInString(word)
	for _, w := range words {
		if longer := length - utf8.RuneCountInString(w); longer > mostTypos || longer < -mostTypos {
			continue // certainly too far, and the distance to a long word takes long
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

// plain returns word without the differences that do not count.
func plain(word string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
}

// mostTypos is the highest result of typos.
const mostTypos = 2

// typos returns the longest distance at which two words are near. It is shorter for short words,
// because they differ little from many other words.
func typos(a, b string) int {
	switch n := min(len(a), len(b)); {
	case n < 3:
		return 0
	case n < 5:
		return 1
	}
	return mostTypos
}

// distance returns the number of letters to insert, remove or replace that turns a into b. Two letters
// in the wrong order count as one.
func distance(a, b string) int {
	d := levenshtein.ComputeDistance(a, b)
	if d == 2 && len(a) == len(b) && slices.Equal(slices.Sorted(strings.SplitSeq(a, "")), slices.Sorted(strings.SplitSeq(b, ""))) {
		return 1
	}
	return d
}
