package rulestore_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

// TestPostgresPage runs the statements of docs/operate/postgres.md, in their order: those after
// `sql setup` and `sql as superuser` as the superuser, the others as the owner of the database.
func TestPostgresPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operate/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.Shared(t)
	blocks := regexp.MustCompile("(?s)\n```sql *([a-z ]*)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 8 || blocks[0][1] != "setup" {
		t.Fatalf("the page has %d blocks of SQL, want more, and the set up first", len(blocks))
	}
	for _, statement := range strings.SplitAfter(strings.TrimSpace(blocks[0][2]), ";\n") { // no transaction has CREATE DATABASE
		server.Exec(t, "postgres", statement)
	}
	url := strings.Replace(server.URL("fleetlimit"), "postgres@", "fleetlimit:change-me@", 1)
	store := openPostgres(t, url)
	write(t, store, rulestoretest.Version(1))
	owner := connect(t, url)
	before := latest(t, store).Number
	for _, block := range blocks[1:] {
		if block[1] == "as superuser" {
			server.Exec(t, "fleetlimit", block[2])
		} else {
			owner.exec(t, block[2])
		}
		after := latest(t, store).Number
		changes := block[1] == "" && !strings.HasPrefix(block[2], "SELECT")
		if changes != (after > before) {
			t.Errorf("version %d comes after version %d, want a change: %v; from\n%s", after, before, changes, block[2])
		}
		before = after
	}
	// A node, with the rights of the page.
	node := openPostgres(t, strings.Replace(url, "fleetlimit:change-me@", "node@", 1))
	latest(t, node)
	v := rulestoretest.Version(before + 1)
	write(t, node, v)
	if _, err := node.Version(t.Context(), before); err != nil {
		t.Error(err)
	}
	// A program that changes rules.
	billing := connect(t, strings.Replace(url, "fleetlimit:change-me@", "billing@", 1))
	billing.exec(t, "DELETE FROM rate_limit_overrides")
	if v := latest(t, node); v.Author != "billing" || len(v.Document.Overrides) != 0 {
		t.Errorf("the newest version is of %q with %d overrides, want of billing without any", v.Author, len(v.Document.Overrides))
	}
	for _, statement := range []string{
		"DELETE FROM rate_limit_access", "DELETE FROM rate_limit_versions", "UPDATE rate_limit_events SET added = true",
		"SELECT rate_limit_write_version(99, now(), 'mallory', '', '', '', NULL)",
	} {
		if _, err := billing.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("billing runs %s: error = %v, want that it may not", statement, err)
		}
	}
}
