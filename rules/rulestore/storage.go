package rulestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A KeyValueStorage is the part of certmagic.Storage that Storage uses.
type KeyValueStorage interface {
	Lock(ctx context.Context, name string) error
	Unlock(ctx context.Context, name string) error
	Store(ctx context.Context, key string, value []byte) error
	Load(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, path string, recursive bool) ([]string, error)
}

// lockTrusted is how long a writer relies on its lock. Other nodes break a lock that was not
// refreshed for 10 s, for example because its process was suspended.
const lockTrusted = 8 * time.Second

// Storage keeps versions in Caddy's storage, for one node, or for several that share it.
//
// One file, the index, has all versions without their documents, and is replaced as a whole: a
// version is written entirely or not at all, and is acknowledged after that. A version outlives a
// node that is killed. Whether it outlives the machine depends on the storage; Caddy's file system
// storage syncs the file, but not its directory.
//
// Nodes take turns to write by the lock of the storage. A node that dies while it writes holds up
// the others until they break its lock, after some 10 s. The lock of a file system is not perfect
// when two nodes break it in the same instant: then the version of one of them may be lost. Nodes
// learn of versions that others have written when they poll.
type Storage struct {
	storage atomic.Pointer[KeyValueStorage]
	dir     string
	limits  limits
	cache   documentCache
	turn    chan struct{} // holds one element while somebody here has the lock, or waits for it
	clean   bool          // nothing unused was left after the last write; guarded by the lock of the storage
	idle    *background

	mu       sync.Mutex
	watchers map[*func()]struct{}
}

var _ rules.Copy = (*Storage)(nil)

// NewStorage returns a store on a storage of Caddy.
func NewStorage(storage KeyValueStorage) *Storage { return newStorage(storage, "rate_limit/rules") }

// NewCopy returns a copy of another store, on a storage of Caddy. of is the name of that store.
// Copies of different stores are kept apart.
func NewCopy(storage KeyValueStorage, of string) *Storage {
	return newStorage(storage, path.Join("rate_limit/rules_copies", of))
}

func newStorage(storage KeyValueStorage, dir string) *Storage {
	s := &Storage{dir: dir, limits: defaultLimits, turn: make(chan struct{}, 1), idle: newBackground(), watchers: make(map[*func()]struct{})}
	s.Use(storage)
	return s
}

// Use replaces the storage by another handle of the same one: a reload gives Caddy a new handle,
// even if its configuration stays as it was.
func (s *Storage) Use(storage KeyValueStorage) { s.storage.Store(&storage) }

func (s *Storage) current() KeyValueStorage { return *s.storage.Load() }

func (s *Storage) documentKey(name string) string { return path.Join(s.dir, name+".json.gz") }

func (s *Storage) patchKey(name string) string { return path.Join(s.dir, name+".patch.gz") }

func (s *Storage) indexKey() string { return path.Join(s.dir, "versions.json") }

// Name implements [rules.VersionStore].
func (s *Storage) Name() string { return "storage" }

// Close implements [rules.VersionStore].
func (s *Storage) Close() error {
	s.idle.close()
	return nil
}

// index returns the index, which is empty if there is none.
func (s *Storage) index(ctx context.Context) (*storageIndex, error) {
	if err := ctx.Err(); err != nil { // file systems do not look at ctx
		return nil, err
	}
	x := &storageIndex{Documents: make(map[string]storedDocument)}
	text, err := s.current().Load(ctx, s.indexKey())
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	if err := rules.Unmarshal(text, x); err != nil {
		return nil, damaged(err)
	}
	return x, nil
}

// Latest implements [rules.VersionStore].
func (s *Storage) Latest(ctx context.Context) (*rules.Version, error) {
	v, err := s.read(ctx, func(versions []storedVersion) int { return len(versions) - 1 })
	if errors.Is(err, rules.ErrNotFound) {
		return &rules.Version{Document: new(rules.Document)}, nil
	}
	return v, err
}

// Version implements [rules.VersionStore].
func (s *Storage) Version(ctx context.Context, number int64) (*rules.Version, error) {
	return s.read(ctx, func(versions []storedVersion) int {
		return slices.IndexFunc(versions, func(v storedVersion) bool { return v.Number == number })
	})
}

// read returns the version at the index that choose returns, or ErrNotFound if the index is
// negative.
func (s *Storage) read(ctx context.Context, choose func([]storedVersion) int) (*rules.Version, error) {
	for missing := ""; ; {
		x, err := s.index(ctx)
		if err != nil {
			return nil, err
		}
		i := choose(x.Versions)
		if i < 0 {
			return nil, rules.ErrNotFound
		}
		stored := &x.Versions[i]
		stored.Document, err = s.document(ctx, x, stored.Name)
		if errors.Is(err, fs.ErrNotExist) && stored.Name != missing {
			missing = stored.Name // it may have been removed since with its last version
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the document of version %d: %w", stored.Number, err)
		}
		if i == len(x.Versions)-1 {
			s.cache.set(stored.Document, stored.Name)
		}
		return &stored.Version, nil
	}
}

// document returns a document of the index.
func (s *Storage) document(ctx context.Context, x *storageIndex, name string) (*rules.Document, error) {
	document, known := s.cache.get()
	if document == nil {
		known = "" // no document has this name
	}
	base, names, found := x.path(name, known)
	if !found {
		return nil, damaged(errors.New("the document is missing"))
	}
	if base != known {
		data, err := s.current().Load(ctx, s.documentKey(base))
		if err != nil {
			return nil, err
		}
		if document, err = decode(data); err != nil {
			return nil, err
		}
	}
	patches := make([]storedPatch, len(names))
	for i, name := range names {
		data, err := s.current().Load(ctx, s.patchKey(name))
		if err != nil {
			return nil, err
		}
		patches[i] = storedPatch{name, data}
	}
	return patched(document, base, patches)
}

// History implements [rules.VersionStore].
func (s *Storage) History(ctx context.Context, before int64, limit int) ([]*rules.Version, error) {
	x, err := s.index(ctx)
	if err != nil {
		return nil, err
	}
	var history []*rules.Version
	for i := len(x.Versions) - 1; i >= 0 && len(history) < limit; i-- {
		if v := &x.Versions[i].Version; before <= 0 || v.Number < before {
			history = append(history, v)
		}
	}
	return history, nil
}

// Write implements [rules.VersionStore].
func (s *Storage) Write(ctx context.Context, v *rules.Version, after int64) error {
	if err := s.checkNewest(ctx, after); err != nil {
		return err // before the lock is taken, for which nodes wait a second
	}
	d, err := s.cache.encode(v.Document) // before the lock is taken, too: a long document takes a while
	if err != nil {
		return err
	}
	return s.withLock(ctx, func(locked time.Time) error { return s.writeLocked(ctx, v, d, after, locked) })
}

// Clear implements [rules.Copy].
func (s *Storage) Clear(ctx context.Context) error {
	return s.withLock(ctx, func(time.Time) error {
		if err := s.current().Delete(ctx, s.indexKey()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.clean = s.removeUnusedLocked(ctx, new(storageIndex))
		return nil
	})
}

// withLock calls f while it holds the lock of the storage. If f returns no error, it then calls the
// watchers.
func (s *Storage) withLock(ctx context.Context, f func(locked time.Time) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	lock := strings.ReplaceAll(s.dir, "/", "_")
	if err := s.current().Lock(ctx, lock); err != nil {
		return err
	}
	err := f(time.Now())
	// A lock that cannot be removed is broken by the next writer.
	_ = s.current().Unlock(context.WithoutCancel(ctx), lock)
	if err == nil {
		s.announce()
	}
	return err
}

func (s *Storage) checkNewest(ctx context.Context, number int64) error {
	x, err := s.index(ctx)
	if err == nil && x.newest() != number {
		return rules.ErrConflict
	}
	return err
}

// writeLocked writes v, whose document is d. The lock of the storage was acquired at the instant
// locked.
func (s *Storage) writeLocked(ctx context.Context, v *rules.Version, d *encodedDocument, after int64, locked time.Time) error {
	x, err := s.index(ctx)
	if err != nil {
		return err
	}
	place, found := slices.BinarySearchFunc(x.Versions, v.Number, func(old storedVersion, number int64) int {
		return cmp.Compare(old.Number, number)
	})
	if x.newest() != after || found {
		return rules.ErrConflict
	}
	name, err := s.storeDocument(ctx, x, v.Document, d)
	if err != nil {
		return err
	}
	all := len(x.Versions)
	x.Versions = slices.Insert(x.Versions, place, storedVersion{*v.WithoutDocument(), name})
	kept := x.trimmed(s.limits)
	if time.Since(locked) > lockTrusted {
		return errors.New("writing has taken so long that others may have broken the lock")
	}
	if err := s.storeIndex(ctx, kept); err != nil {
		return err
	}
	if place == all {
		s.cache.set(v.Document, name)
		if _, patches, _ := kept.path(name, ""); len(patches) >= mostPatches {
			s.idle.run(func(ctx context.Context) { s.complete(ctx, name, v.Document) })
		}
	}
	if !s.clean || len(kept.Versions) <= all {
		s.clean = s.removeUnusedLocked(ctx, kept)
	}
	return nil
}

// storeDocument stores a document, encoded as d, unless the index has it, and adds it to the index.
func (s *Storage) storeDocument(
	ctx context.Context, x *storageIndex, document *rules.Document, d *encodedDocument,
) (name string, err error) {
	_, isStored := x.Documents[d.name]
	if _, hasBase := x.Documents[d.base]; !isStored && (d.data == nil || d.base != "" && !hasBase) {
		if d, err = encode(document); err != nil { // the storage has lost the known one
			return "", err
		}
		_, isStored = x.Documents[d.name]
	}
	switch {
	case isStored:
	case d.base == "":
		x.Documents[d.name] = storedDocument{Whole: len(d.data)}
		err = s.current().Store(ctx, s.documentKey(d.name), d.data)
	default:
		x.Documents[d.name] = storedDocument{Patch: len(d.data), Base: d.base}
		err = s.current().Store(ctx, s.patchKey(d.name), d.data)
	}
	return d.name, err
}

func (s *Storage) storeIndex(ctx context.Context, x *storageIndex) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return s.current().Store(ctx, s.indexKey(), text)
}

// complete stores a document whole that is stored as a patch, so that a reader need not apply ever
// more patches. If it fails, the next Write tries again.
func (s *Storage) complete(ctx context.Context, name string, document *rules.Document) {
	whole, err := encode(document)
	if err != nil {
		return
	}
	_ = s.withLock(ctx, func(time.Time) error {
		x, err := s.index(ctx)
		if err != nil {
			return err
		}
		d, found := x.Documents[name]
		if !found || d.Whole > 0 {
			return nil // nothing needs it any more
		}
		if err := s.current().Store(ctx, s.documentKey(name), whole.data); err != nil {
			return err
		}
		d.Whole = len(whole.data)
		x.Documents[name] = d
		return s.storeIndex(ctx, x)
	})
}

// removeUnusedLocked removes files that the index does not have: documents of versions that are not
// kept any more, and files of a node that died while it wrote. It reports whether nothing unused is
// left.
func (s *Storage) removeUnusedLocked(ctx context.Context, x *storageIndex) bool {
	used := map[string]bool{s.indexKey(): true}
	for name, d := range x.Documents {
		used[s.documentKey(name)] = d.Whole > 0
		used[s.patchKey(name)] = d.Patch > 0
	}
	keys, err := s.current().List(ctx, s.dir, false)
	for _, key := range keys {
		if !used[key] && s.current().Delete(ctx, key) != nil {
			return false
		}
	}
	return err == nil
}

// Watch implements [rules.VersionStore]. It sees only versions that are written through s.
func (s *Storage) Watch(ctx context.Context, changed func()) error {
	s.mu.Lock()
	s.watchers[&changed] = struct{}{}
	s.mu.Unlock()
	changed()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.watchers, &changed)
	s.mu.Unlock()
	return ctx.Err()
}

// announce calls the watchers.
func (s *Storage) announce() {
	s.mu.Lock()
	watchers := slices.Collect(maps.Keys(s.watchers))
	s.mu.Unlock()
	for _, changed := range watchers {
		(*changed)()
	}
}
