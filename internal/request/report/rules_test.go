package report

import (
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// If the storage cannot be read, the rules stay in force, and a metric and the log say so. Rules that another
// process writes are in force after the next poll.
func TestRulesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		storage := func() rules.VersionStore { return rulestore.NewStorage(&certmagic.FileStorage{Path: dir}) }
		p, logs := observed()
		target, err := rulewatch.Resolve(nil, &certmagic.FileStorage{Path: dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, release := target.Acquire(p)
		defer release()
		operator := rules.NewWatcher(storage(), rules.Options{})
		defer operator.Close()
		change := rules.Change{Apply: func(d *rules.Document) error { return nil }}
		write := func() {
			if _, err := operator.Update(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		check := func(polls time.Duration, version, failed float64, logged ...string) {
			t.Helper()
			time.Sleep(polls * 10 * time.Second)
			synctest.Wait()
			if got := gathered(t, p)["rules_version storage"]; got != version {
				t.Errorf("the metric of the version = %v, want %v", got, version)
			}
			if got := gathered(t, p)["rules_failed_polls_total storage"]; got != failed {
				t.Errorf("the metric of failed polls = %v, want %v", got, failed)
			}
			var lines []string
			for _, line := range logs.TakeAll() {
				lines = append(lines, line.Level.String()+": "+line.Message)
			}
			if !slices.Equal(lines, logged) {
				t.Errorf("the log says %q, want %q", lines, logged)
			}
		}
		write()
		time.Sleep(5 * time.Second) // polls come between the checks
		check(1, 1, 0)
		files := dir + "/rate_limit/rules"
		if err := os.Rename(files, files+"-away"); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(files+"/versions.json", 0o700); err != nil { // which is no file
			t.Fatal(err)
		}
		check(2, 1, 2)
		check(1, 1, 3, "warn: the rules cannot be read, so the last known ones stay in force")
		check(3, 1, 6)
		if err := errors.Join(os.RemoveAll(files), os.Rename(files+"-away", files)); err != nil {
			t.Fatal(err)
		}
		write()
		check(1, 2, 6, "info: the rules can be read again")
	})
}
