package spelling

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	zone := []string{"algorithm", "allow_key", "cost", "key", "limit", "match", "mode", "on_missing_key", "tier"}
	redis := []string{"address", "key_prefix", "master_name", "password", "pool_size", "sentinel_password", "tls"}
	for _, tc := range []struct {
		word  string
		words []string
		want  string
	}{
		{"limits", zone, "limit"},
		{"Key", zone, "key"},
		{"kye", zone, "key"},
		{"algoritm", zone, "algorithm"},
		{"aglorithm", zone, "algorithm"},
		{"on-missing-key", zone, "on_missing_key"},
		{"missing", zone, "on_missing_key"},
		{"allowkey", zone, "allow_key"},
		{"teir", zone, "tier"},
		{"deny", zone, ""},
		{"per", zone, ""},
		{"not", zone, ""},
		{"zone", zone, ""},
		{"by", zone, ""},
		{"", zone, ""},
		{"addr", redis, "address"},
		{"pool", redis, "pool_size"},
		{"prefix", redis, "key_prefix"},
		{"TLS", redis, "tls"},
		{"database", redis, ""},
		{"PSOT", []string{"GET", "POST", "PUT"}, "POST"},
		{"POLL", []string{"GET", "POST", "PUT"}, ""},
		{"DEL", []string{"GET", "DELETE"}, "DELETE"},
		{"sliding", []string{"sliding_window", "sliding_window_log"}, ""},
	} {
		if got := Nearest(tc.word, tc.words); got != tc.want {
			t.Errorf("Nearest(%q, %v) = %q, want %q", tc.word, tc.words, got, tc.want)
		}
	}
}

func TestUnknownWord(t *testing.T) {
	words, synonyms := []string{"all", "first", "none"}, Synonyms{"off": "none"}
	for value, question := range map[string]string{
		"off": "; did you mean none?", "OFF": "; did you mean none?", "frist": "; did you mean first?", "some": "",
	} {
		want := `log is "` + value + `": use all, first or none` + question
		if got := UnknownWord("log", value, words, synonyms).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "ab", 2}, {"ab", "", 2}, {"key", "key", 0}, {"key", "kye", 1}, {"key", "keys", 1}, {"key", "ey", 1},
		{"key", "kay", 1}, {"abcd", "badc", 3}, {"limit", "mode", 5},
	} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestNearestOfLongWord compares the longest word that a request's path may have with the names of many
// zones.
func TestNearestOfLongWord(t *testing.T) {
	words := make([]string, 10_000)
	for i := range words {
		words[i] = strings.Repeat("z", 60) + strconv.Itoa(i)
	}
	start := time.Now()
	if got := Nearest(strings.Repeat("z", 1<<20), words); got != "" {
		t.Errorf("the nearest word is %q, want none", got)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v, want at most 30s", took)
	}
}
