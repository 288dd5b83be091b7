package rulestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

// writeForever names the directory, or the URL of PostgreSQL, to which this program writes versions
// instead of running tests, until it is killed.
const writeForever = "RULESTORE_TEST_WRITE_FOREVER"

func TestMain(m *testing.M) {
	if place := os.Getenv(writeForever); place != "" {
		store, err := rules.VersionStore(newStorage(place)), error(nil)
		if strings.HasPrefix(place, "postgres://") {
			store, err = rulestore.OpenPostgres(place)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for n := int64(1); ; n++ {
			if err := store.Write(context.Background(), rulestoretest.Version(n), n-1); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(n)
		}
	}
	pgtest.Main(m)
}

// killNode has a node write to a place, and kills it some time after ten versions. It returns the
// last one that was acknowledged.
func killNode(t *testing.T, place string, after time.Duration) (last int64) {
	t.Helper()
	node := exec.Command(os.Args[0])
	node.Env = append(os.Environ(), writeForever+"="+place)
	node.Stderr = os.Stderr
	output, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	for range 10 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("the node has ended: %v", err)
		}
	}
	<-time.After(after) // somewhere in a write
	_ = node.Process.Kill()
	last = 10
	for {
		if _, err := fmt.Fscanln(lines, &last); err != nil {
			break
		}
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = node.Wait()
	return last
}

func newStorage(dir string) *rulestore.Storage {
	return rulestore.NewStorage(&certmagic.FileStorage{Path: dir})
}

// onFiles returns a place for versions in a directory.
func onFiles(dir string) rulestoretest.Fixture {
	return rulestoretest.Fixture{Open: func() rules.VersionStore { return newStorage(dir) }, WatchesItself: true, AddsOlder: true}
}

func TestStorage(t *testing.T) {
	t.Parallel()
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture { return onFiles(t.TempDir()) })
}

// TestStorageOfKilledNode kills nodes while they write. All that they have acknowledged is there
// and whole, and the next node can write when it has broken the lock.
func TestStorageOfKilledNode(t *testing.T) {
	t.Parallel()
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := t.TempDir()
			last := killNode(t, dir, 2*time.Duration(i)*time.Millisecond)

			lock := filepath.Join(dir, "locks", "rate_limit_rules.lock")
			if _, err := os.Stat(lock); err == nil { // as after 10 s
				const old = `{"created": "2020-01-01T00:00:00Z", "updated": "2020-01-01T00:00:00Z"}`
				if err := os.WriteFile(lock, []byte(old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			store := newStorage(dir)
			v, err := store.Latest(t.Context())
			if err != nil || v.Number != last && v.Number != last+1 {
				t.Fatalf("the newest version = %+v, %v, want %d or one more", v, err, last)
			}
			for n := int64(1); n <= v.Number; n++ {
				got, err := newStorage(dir).Version(t.Context(), n)
				if err != nil || !reflect.DeepEqual(got, rulestoretest.Version(n)) {
					t.Errorf("version %d = %+v, %v, want it as written", n, got, err)
				}
			}
			if err := store.Write(t.Context(), rulestoretest.Version(v.Number+1), v.Number); err != nil {
				t.Fatalf("writing after a node was killed: %v", err)
			}
			if files := count(t, dir); files != int(v.Number)+2 {
				t.Errorf("files = %d, want one for each of %d versions and one of all", files, v.Number+1)
			}
		})
	}
}

// count returns how many files of versions are in a storage.
func count(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "rate_limit", "rules", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestStorageKeepsTheNewestVersions writes more than are kept.
func TestStorageKeepsTheNewestVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantKept(t, func() keeper { return newStorage(dir) })
	if files := count(t, dir); files != 2 {
		t.Errorf("files = %d, want one document and the list of versions", files)
	}
}

// TestStorageKeepsChangesSmall changes an entry of a long document often. The files do not grow
// with the document.
func TestStorageKeepsChangesSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := newStorage(dir)
	v := rulestoretest.Version(1)
	for i := range 3000 {
		v.Document.Overrides = append(v.Document.Overrides, &rules.Override{
			Entry: rules.Entry{ID: fmt.Sprint(i), Reason: strings.Repeat(fmt.Sprint(i*7919), 10)},
		})
	}
	size := func() (bytes int64) {
		t.Helper()
		files, err := os.ReadDir(filepath.Join(dir, "rate_limit", "rules"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := file.Info(); err == nil && file.Name() != "versions.json" {
				bytes += info.Size()
			}
		}
		return bytes
	}
	whole := int64(0)
	for n := int64(1); n <= 60; n++ {
		v.Number, v.Document = n, v.Document.Clone()
		v.Document.Overrides = append(v.Document.Overrides, &rules.Override{Entry: rules.Entry{ID: fmt.Sprint("added-", n)}})
		if err := store.Write(t.Context(), v, n-1); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			whole = size()
		}
	}
	if all := size(); all > 2*whole {
		t.Errorf("60 versions take %d bytes, want less than twice the %d of the first", all, whole)
	}
}

// TestStorageReportsDamage has a file that somebody has changed.
func TestStorageReportsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := newStorage(dir).Write(t.Context(), rulestoretest.Version(1), 0); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "rate_limit", "rules", "*"))
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "{", string(before[:len(before)/2])} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if v, err := newStorage(dir).Latest(t.Context()); err == nil {
				t.Errorf("with %q in %s: %+v, want an error", text, file, v)
			}
		}
		if err := os.WriteFile(file, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A keeper is a store with other limits.
type keeper interface {
	rules.VersionStore
	Keep(versions, bytes int)
}

// wantKept writes more versions than stores keep by their number, and then by the size of
// documents. It leaves one version.
func wantKept(t *testing.T, open func() keeper) {
	t.Helper()
	last := int64(0)
	write := func(store keeper, number int, want ...int64) {
		t.Helper()
		for range number {
			if err := store.Write(t.Context(), rulestoretest.Version(last+1), last); err != nil {
				t.Fatal(err)
			}
			last++
		}
		history, err := store.History(t.Context(), 0, 1000)
		var got []int64
		for _, v := range history {
			got = append(got, v.Number)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the history = %v, %v, want %v", got, err, want)
		}
		for n := int64(1); n <= last; n++ {
			v, err := open().Version(t.Context(), n)
			if slices.Contains(want, n) {
				if err != nil || !reflect.DeepEqual(v, rulestoretest.Version(n)) {
					t.Errorf("version %d = %+v, %v", n, v, err)
				}
			} else if !errors.Is(err, rules.ErrNotFound) {
				t.Errorf("version %d, which is not kept = %+v, %v", n, v, err)
			}
		}
	}
	store := open()
	store.Keep(3, 1<<20)
	write(store, 7, 7, 6, 5)
	// Each of these documents takes between 300 and 600 bytes.
	store.Keep(100, 600)
	write(store, 2, 9)
}
