package rulestore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
)

// writeForever names the directory to which this program writes versions instead of running tests,
// until it is killed.
const writeForever = "RULESTORE_TEST_WRITE_FOREVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writeForever); dir != "" {
		store := newStorage(dir)
		for n := int64(1); ; n++ {
			if err := store.Write(context.Background(), rulestoretest.Version(n), n-1); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(n)
		}
	}
	os.Exit(m.Run())
}

func newStorage(dir string) *rulestore.Storage {
	return rulestore.NewStorage(&certmagic.FileStorage{Path: dir})
}

// onFiles returns a place for versions in a directory.
func onFiles(dir string) rulestoretest.Fixture {
	return rulestoretest.Fixture{Open: func() rules.Store { return newStorage(dir) }, WatchesItself: true}
}

func TestStorage(t *testing.T) {
	t.Parallel()
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture { return onFiles(t.TempDir()) })
}

// TestStorageOfKilledNode kills nodes while they write. All that they have acknowledged is there and
// whole, and the next node can write when it has broken the lock.
func TestStorageOfKilledNode(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			node := exec.Command(os.Args[0])
			node.Env = append(os.Environ(), writeForever+"="+dir)
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
			time.Sleep(time.Duration(i) * 1300 * time.Microsecond) // somewhere in a write
			_ = node.Process.Kill()
			last := int64(10)
			for {
				if _, err := fmt.Fscanln(lines, &last); err != nil {
					break
				}
			}
			_, _ = io.Copy(io.Discard, lines)
			_ = node.Wait()

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
	store := newStorage(dir)
	wantKept(t, store)
	if files := count(t, dir); files != 201 {
		t.Errorf("files = %d, want 200 documents and the list of versions", files)
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

// wantKept writes 210 versions, of which 200 are kept.
func wantKept(t *testing.T, store rules.Store) {
	t.Helper()
	for n := int64(1); n <= 210; n++ {
		if err := store.Write(t.Context(), rulestoretest.Version(n), n-1); err != nil {
			t.Fatal(err)
		}
	}
	history, err := store.History(t.Context(), 0, 1000)
	if err != nil || len(history) != 200 || history[0].Number != 210 || history[199].Number != 11 {
		t.Errorf("the history has %d versions, %v, want those from 210 to 11", len(history), err)
	}
	if _, err := store.Version(t.Context(), 11); err != nil {
		t.Errorf("version 11: %v", err)
	}
	if v, err := store.Version(t.Context(), 10); err == nil {
		t.Errorf("version 10 = %+v, want none", v)
	}
}
