package config

import (
	"strings"
	"testing"
)

// Wrong stores are refused, and no error shows a password.
func TestRuleStoreCheck(t *testing.T) {
	for _, tc := range []struct {
		store    RuleStore
		hasRedis bool
		want     string // "" if the store is right
	}{
		{RuleStore{Name: "storage"}, false, ""},
		{RuleStore{Name: "redis"}, true, ""},
		{RuleStore{Name: "redis"}, false, "there is no redis"},
		{RuleStore{Name: "postgres", URL: "postgres://db/rules"}, false, ""},
		{RuleStore{Name: "postgres", URL: "{env.URL}"}, false, ""},
		{RuleStore{Name: "postgres", URL: "mysql://u:secret@db/rules"}, false, "needs a URL"},
		{RuleStore{Name: "storage", URL: "x"}, false, "use `rules storage`"},
		{RuleStore{Name: "postgres://u:secret@db"}, false, "after the word"},
		{RuleStore{Name: "reddis"}, true, "redis"},
	} {
		err := tc.store.Check(tc.hasRedis)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%+v: %v, want no error", tc.store, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%+v: %v, want an error with %q", tc.store, err, tc.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%v shows the password", err)
		}
	}
}
