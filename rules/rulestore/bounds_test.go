package rulestore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// hostileDocuments returns what somebody who has broken into a store puts in place of a document.
var hostileDocuments = sync.OnceValue(func() map[string][]byte {
	all := make(map[string][]byte)
	for name, text := range map[string]string{
		"many entries": `{"overrides":[{}` + strings.Repeat(",{}", 1_000_000) + `]}`,
		"a long text":  `{"note":"` + strings.Repeat(" ", 70<<20) + `"}`,
		"null entries": `{"overrides":[null]}`,
		"a null zone":  `{"zones":{"z":null}}`,
		"many arrays":  strings.Repeat(`[`, 1_000_000),
	} {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		all[name] = b.Bytes()
	}
	return all
})

// mostMemory returns how many bytes f has allocated.
func mostMemory(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// refuses checks that the newest version of a store is not read, and that it takes little memory to
// find that out: twice the bytes of the longest document that may be written, as its buffer grows.
func refuses(t *testing.T, name string, latest func(context.Context) (*rules.Version, error)) {
	t.Helper()
	const most = 5 * 64 << 20
	took := mostMemory(func() {
		if v, err := latest(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: the version %v and the error %v, want that the rules are damaged", name, v, err)
		}
	})
	if took > most {
		t.Errorf("%s: %d MB were allocated to read it, want at most %d", name, took>>20, most>>20)
	}
}

// writeOne writes a version with one override to a store.
func writeOne(t *testing.T, s rules.VersionStore) {
	t.Helper()
	d := &rules.Document{Overrides: []*rules.Override{{Entry: rules.Entry{ID: "a"}, Key: rules.Key{Zone: "z", Text: "k"}, Multiplier: 2}}}
	v := &rules.Version{Number: 1, Time: time.Now(), Lineage: "l", Document: d}
	if err := s.Write(t.Context(), v, 0); err != nil {
		t.Fatal(err)
	}
}

// TestHostileRedis has a Redis return rules that expand.
func TestHostileRedis(t *testing.T) {
	server := redistest.NewServer(t)
	redis := server.Client()
	writer := newRedis(t, redisconn.Options{Addresses: []string{server.Addr}}, "rl")
	defer func() { _ = writer.Close() }()
	writeOne(t, writer)
	key := "rl:{rules}:versions"
	fields := redis.HGetAll(t.Context(), key).Val()
	field := ""
	for name, value := range fields {
		if strings.Contains(value, "\x1f\x8b") { // the beginning of gzip
			field = name
		}
	}
	if field == "" {
		t.Fatalf("no document is in the fields %q", fields)
	}
	prefix, _, _ := strings.Cut(fields[field], "\x1f\x8b")
	for name, text := range hostileDocuments() {
		if err := redis.HSet(t.Context(), key, field, prefix+string(text)).Err(); err != nil {
			t.Fatal(err)
		}
		reader := newRedis(t, redisconn.Options{Addresses: []string{server.Addr}}, "rl") // knows no document
		refuses(t, name, reader.Latest)
		_ = reader.Close()
	}
}

// TestHostileStorage has Caddy's storage return such rules.
func TestHostileStorage(t *testing.T) {
	dir := t.TempDir()
	writer := rulestore.NewStorage(&certmagic.FileStorage{Path: dir})
	writeOne(t, writer)
	files, err := filepath.Glob(filepath.Join(dir, "rate_limit/rules/*.json.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(fmt.Sprint("files of documents: ", files), err)
	}
	for name, text := range hostileDocuments() {
		if err := os.WriteFile(files[0], text, 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, name, rulestore.NewStorage(&certmagic.FileStorage{Path: dir}).Latest)
	}
}

// TestHostilePostgres has a PostgreSQL return a long row.
func TestHostilePostgres(t *testing.T) {
	server := pgtest.Shared(t)
	url := server.URL(server.Database(t))
	writer := openPostgres(t, url)
	writeOne(t, writer)
	_ = writer.Close()
	connect(t, url).exec(t, `SET session_replication_role = replica; -- no triggers
		UPDATE rate_limit_overrides SET key = repeat('k', 20000000)`)
	reader := openPostgres(t, url)
	defer func() { _ = reader.Close() }()
	if v, err := reader.Latest(t.Context()); err == nil {
		t.Errorf("version %d was read, want an error", v.Number)
	}
}

// TestRowsAreBounded reads more rows than a list may have.
func TestRowsAreBounded(t *testing.T) {
	if rows := rulestore.MostRows(); rows != rules.MaxEntries {
		t.Errorf("%d rows were read, want %d", rows, rules.MaxEntries)
	}
}
