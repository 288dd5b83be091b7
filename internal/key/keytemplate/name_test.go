package keytemplate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNameMatcher(t *testing.T) {
	for _, tc := range []struct {
		name     string
		similar  []string
		innocent []string
	}{
		{"key",
			[]string{
				"key", "KEY", "kEy", "k%65y", "%4bey", "\u212aey", "%E2%84%AAey", "\xe2%84\xaaEY", "key[", "key[]", "key[0]", "key[a][b]",
				"key]", "]key", "[key]", "[key]x", "[key][x]", "[[key", "%5bkey%5d", "key.", ".key", " key", "key ", "+key", "key+",
				"key%00", "key%00x", "%00key", "\u00a0key\u00a0", "\x85key", "key\xa0", "key\u2003", "\"key\"", "'key'", "(key)",
				"key.%00x", "key%", "%key", "%%6bey", "key:[x", "\ufeffkey",
			},
			[]string{
				"", "%", "%6", "%zz", "ke", "keys", "key2", "2key", "_key", "key_", "-key", "key-", "$key", "key$", "akey", "k.ey", "ke%79s",
				"monkey", "api_key", "api.key", "key.x", "key_x", "key%5fx", "x[key]", "x.key", "clé", "ключ", "鍵", "k\u00e9y", "%00",
				"%00key2", "\u212a", "kee", "[]", "[", "]", "key+s", "key x", "%256bey",
			}},
		{"session_id",
			[]string{
				"session_id", "session[id", "session.id", "session id", "session+id", "session-id", "session%00id", "session]id",
				"SESSION_ID", "\u017fe\u017fsion_id", "se%C5%BF%c5%bfion_id", "session_id\xa0", "\x85session_id", "[session_id]x",
				"session$id", "session\xa0id", "session[id]",
			},
			[]string{
				"sessionid", "session__id", "session", "id", "session_id2", "session_idx", "sessionxid", "my_session_id", "_session_id",
				"session[user", "session_", "session\u00a0id", "csrf", "session2id",
			}},
		{"_key",
			[]string{"_key", "-key", "$key", ".key", "[key", "[[key", " _key", "._key", "_KEY]"},
			[]string{"key", "__key", "_-key", "a_key", "_keys", "$_key"}},
		{"$filter", []string{"$filter", "_filter", "%24filter", "$FILTER[]"}, []string{"filter", "$filters", "$$filter", "x$filter"}},
		{"a1", []string{"a1", "A1", "%61%31"}, []string{"a", "a\x11", "a!", "aa1", "a11", "\x01\x11"}},
		{"x.y", []string{"x.y", "x_y", "x[y]", "x[y][z]", "x y"}, []string{"xy", "x", "y", "x..y", "x.yz", "x[z]"}},
		{"filter[user]", []string{"filter[user]", "filter[user][]", "filter.user."}, []string{"filter", "filter[user", "filter[users]", "user"}},
		{"ключ", []string{"ключ", "КЛЮЧ", "%d0%BAлюч", "[ключ]", "ключ[x]", " ключ"}, []string{"деньги", "ключи", "мойключ", "ключ2", "ключ_", "key", "имя", "клю"}},
		{"straße", []string{"straße", "STRAẞE", "ſtraße", "\u017ftra\u1e9ee["}, []string{"strasse", "stra__e", "straée"}},
	} {
		m := newNameMatcher(tc.name, true)
		for _, ends := range []string{"", "=", "=x"} {
			for _, field := range tc.similar {
				if !m.similar(field + ends) {
					t.Errorf("%q is not similar to %q, want it to be", field+ends, tc.name)
				}
			}
			for _, field := range tc.innocent {
				if m.similar(field + ends) {
					t.Errorf("%q is similar to %q, want it not to be", field+ends, tc.name)
				}
			}
		}
	}
}

// TestNamesOfGreatestLength compiles the names with the largest automata.
func TestNamesOfGreatestLength(t *testing.T) {
	for _, c := range []string{"k", ".", "s."} {
		name := strings.Repeat(c, maxNameLen/len(c))
		m := newNameMatcher(name, true)
		if !m.similar("!"+name+"!=1") || m.similar(name+"x") || m.similar(name[1:]) {
			t.Errorf("%q is not similar to itself, or to what is longer or shorter", name)
		}
		if size := 4 * len(m.next); size > 700_000 {
			t.Errorf("the automaton of %q has %d bytes, want at most 700,000", name, size)
		}
	}
}

// reference returns an expression that matches the names that are similar to name. Each byte of a
// decoded name is the character with the number of that byte.
func reference(name string) *regexp.Regexp {
	ascii := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	letters := "0-9A-Za-z"
	if !ascii {
		letters += `\x{80}-\x{ff}`
	}
	var spelled strings.Builder
	for _, r := range name {
		if r < utf8.RuneSelf && !isAlphanumeric(byte(r)) {
			spelled.WriteString("[^" + letters + "]")
			continue
		}
		choices := []string{regexp.QuoteMeta(characters(string(r)))}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			choices = append(choices, regexp.QuoteMeta(characters(string(other))))
		}
		spelled.WriteString("(?:" + strings.Join(choices, "|") + ")")
	}
	word := letters + `_\-$`
	before := fmt.Sprintf(`[^%s\x{%x}]*`, word, name[0])
	return regexp.MustCompile(fmt.Sprintf(`(?s)\A%s%s[^%s]*(?:\z|[\x00\[\]])`, before, &spelled, word))
}

// escaped matches %XX.
var escaped = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// decodedName decodes a name. It keeps each % that does not begin a %XX.
func decodedName(name string, query bool) string {
	if query {
		name = strings.ReplaceAll(name, "+", " ")
	}
	return escaped.ReplaceAllStringFunc(name, func(s string) string {
		c, _ := strconv.ParseUint(s[1:], 16, 8)
		return string([]byte{byte(c)})
	})
}

// characters returns a text in which each byte of s is the character with the number of that byte.
func characters(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// FuzzNameMatcher compares a matcher with the expression for its name.
func FuzzNameMatcher(f *testing.F) {
	for _, name := range []string{"key", "session_id", "_key", "$filter", ".", "x.y", "ключ", "straße", "[a]", "K", "ſ"} {
		for _, field := range []string{
			name, "[" + name + "]", name + "%00x", "%" + name, "+" + name + "\xa0", strings.ToUpper(name), "\u212aey", "%c5%bfession_id", name + ".x",
			"..key", "[[key", "\u212a\u212aey", "\xe2\xe2\x84\xaaey=x",
		} {
			f.Add(name, field)
		}
	}
	f.Fuzz(func(t *testing.T, name, field string) {
		if name == "" || len(name) > 40 || !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError) {
			return
		}
		expression := reference(name)
		for _, query := range []bool{false, true} {
			m := newNameMatcher(name, query)
			whole, _, _ := strings.Cut(field, "=")
			decoded := decodedName(whole, query)
			if got, want := m.similar(field), expression.MatchString(characters(decoded)); got != want {
				t.Errorf("%q is similar to %q: %v, want %v; in a query: %v", field, name, got, want, query)
			}
		}
	})
}
