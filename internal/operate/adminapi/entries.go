package adminapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An entryResource serves a list of the rules, and its entries by ID. E is the pointer to an entry.
type entryResource[E rules.ListEntry] struct {
	name    string // name of the list in the rules, in paths and in answers
	example string
	list    func(*rules.Document) *[]E
	newE    func() E
	counted bool // the entries are about keys that the store counts
}

var (
	overrideEntries = &entryResource[*rules.Override]{
		name:    "overrides",
		example: `{"zone": "user", "key": "sk_live_1", "limit": "5000/1m", "expires_in": "2h", "reason": "launch day"}`,
		list:    func(d *rules.Document) *[]*rules.Override { return &d.Overrides },
		newE:    func() *rules.Override { return new(rules.Override) },
		counted: true,
	}
	tierEntries = &entryResource[*rules.TierAssignment]{
		name:    "tiers",
		example: `{"zone": "user", "key": "sk_live_1", "tier": "pro"}`,
		list:    func(d *rules.Document) *[]*rules.TierAssignment { return &d.Tiers },
		newE:    func() *rules.TierAssignment { return new(rules.TierAssignment) },
		counted: true,
	}
	accessEntries = &entryResource[*rules.AccessEntry]{
		name:    "access",
		example: `{"action": "deny", "address": "192.0.2.0/24", "expires_in": "1h", "reason": "scraper"}`,
		list:    func(d *rules.Document) *[]*rules.AccessEntry { return &d.Access },
		newE:    func() *rules.AccessEntry { return new(rules.AccessEntry) },
	}
)

func (s *entryResource[E]) collection() methods {
	return methods{
		http.MethodGet: running(s.getAll), http.MethodPost: running(s.post), http.MethodDelete: running(s.deleteByKey),
	}
}

func (s *entryResource[E]) element() methods {
	return methods{
		http.MethodGet: running(s.get), http.MethodPatch: running(s.patch), http.MethodDelete: running(s.delete),
	}
}

// getAll answers GET with entries of the list, in the order that the query names. If the query
// names a zone, they are the entries of that zone. If it has `after`, they are those after that
// entry.
func (s *entryResource[E]) getAll(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	limit, err := queryInt(r, "limit", api.DefaultEntries, 1)
	if err != nil {
		return nil, err
	}
	limit = min(limit, api.MaxEntries)
	v := c.Watcher.Latest()
	entries, err := sorted(*s.list(v.Document), r.URL.Query().Get("sort"))
	if err != nil {
		return nil, err
	}
	if after := r.URL.Query().Get("after"); after != "" {
		i := s.index(entries, after)
		if i < 0 {
			return nil, s.notFound(after)
		}
		entries = entries[i+1:]
	}
	zone, now := r.URL.Query().Get("zone"), time.Now()
	listed, next := make([]E, 0, min(len(entries), int(limit))), ""
	for _, e := range entries {
		switch {
		case e.Common().Expired(now), zone != "" && cmp.Or(e.OfKey(), new(rules.Key)).Zone != zone:
			continue
		case len(listed) == int(limit):
			next = listed[len(listed)-1].Common().ID
		default:
			listed = append(listed, rules.Canonical(e, c.Schema()))
			continue
		}
		break
	}
	answer := map[string]any{s.name: listed}
	if next != "" {
		answer["next"] = next
	}
	w.Header().Set("ETag", etag(v.Number))
	return answer, nil
}

// count returns how many entries are in force at now.
func (s *entryResource[E]) count(d *rules.Document, now time.Time) (n int) {
	for _, e := range *s.list(d) {
		if !e.Common().Expired(now) {
			n++
		}
	}
	return n
}

// index returns the index of the entry with an ID, or -1 if there is none.
func (s *entryResource[E]) index(entries []E, id string) int {
	return slices.IndexFunc(entries, func(e E) bool { return e.Common().ID == id })
}

func (s *entryResource[E]) notFound(id string) error {
	return apiError(http.StatusNotFound, "there is no entry %q: use GET /rate_limit/%s to see which there are", id, s.name)
}

// get answers GET of an entry.
func (s *entryResource[E]) get(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	v := c.Watcher.Latest()
	entries := *s.list(v.Document)
	i, err := s.present(entries, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	w.Header().Set("ETag", etag(v.Number))
	return rules.Canonical(entries[i], c.Schema()), nil
}

// post answers POST, which adds an entry.
func (s *entryResource[E]) post(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	object, err := readObject(w, r, s.example, mediaJSON)
	if err != nil {
		return nil, err
	}
	if err := takeExpiry(object, time.Now()); err != nil {
		return nil, badBody(err, s.example)
	}
	if err := nameByHash(r.Context(), c, object); err != nil {
		return nil, err
	}
	added := s.newE()
	if err := strictjson.Convert(object, added); err != nil {
		return nil, badBody(err, s.example)
	}
	common := added.Common()
	if common.ID == "" {
		common.ID = rules.NewID()
	}
	written, answer, err := s.change(c, r, common.ID, common.Reason, func(entries []E) ([]E, error) {
		if s.index(entries, common.ID) >= 0 {
			return nil, apiError(http.StatusConflict, "there is an entry %q already: use PATCH /rate_limit/%s/%s to change it",
				common.ID, s.name, common.ID)
		}
		if other := rules.Other(entries, added, c.Schema(), time.Now()); other != *new(E) {
			id := other.Common().ID
			return nil, apiError(http.StatusConflict, "the entry %q is about the same already: use PATCH /rate_limit/%s/%s to "+
				"change it, or DELETE it first", id, s.name, id)
		}
		return append(entries, added), nil
	})
	if err != nil {
		return nil, err
	}
	entry := s.complete(c, w, r, written, answer)
	if answer.DryRun {
		return entry, nil
	}
	w.Header().Set("Location", "/rate_limit/"+s.name+"/"+common.ID)
	return created{entry}, nil
}

// patch answers PATCH of an entry, which is a JSON merge patch.
func (s *entryResource[E]) patch(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	patch, err := readObject(w, r, s.example, mediaJSON, mediaMergePatch)
	if err != nil {
		return nil, err
	}
	if err := takeExpiry(patch, time.Now()); err != nil {
		return nil, badBody(err, s.example)
	}
	id := r.PathValue("id")
	written, answer, err := s.change(c, r, id, "", func(entries []E) ([]E, error) {
		i, err := s.present(entries, id)
		if err != nil {
			return nil, err
		}
		changed := s.newE()
		if err := strictjson.MergePatch(entries[i], patch, changed); err != nil {
			return nil, badBody(err, s.example)
		}
		if changed.Common().ID != id {
			return nil, badBody(fmt.Errorf("id: it is %q, and cannot be changed: use POST for another entry", id), s.example)
		}
		entries[i] = changed
		return entries, nil
	})
	if err != nil {
		return nil, err
	}
	return s.complete(c, w, r, written, answer), nil
}

// present returns the index of the entry with an ID, which must not have expired.
func (s *entryResource[E]) present(entries []E, id string) (int, error) {
	i := s.index(entries, id)
	if i < 0 || entries[i].Common().Expired(time.Now()) {
		return 0, s.notFound(id)
	}
	return i, nil
}

// delete answers DELETE of an entry.
func (s *entryResource[E]) delete(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	_, answer, err := s.change(c, r, r.PathValue("id"), "", func(entries []E) ([]E, error) {
		i, err := s.present(entries, r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return slices.Delete(entries, i, i+1), nil
	})
	if err != nil {
		return nil, err
	}
	return answerWritten(w, answer), nil
}

// deleteByKey answers DELETE of a list, which removes the entry about what the body names.
func (s *entryResource[E]) deleteByKey(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	object, err := readObject(w, r, s.example, mediaJSON)
	if err != nil {
		return nil, err
	}
	about := s.newE()
	if err := strictjson.Convert(object, about); err != nil {
		return nil, badBody(err, s.example)
	}
	about.Common().ID = "" // no entry has this ID
	_, answer, err := s.change(c, r, "", "", func(entries []E) ([]E, error) {
		found := rules.Other(entries, about, c.Schema(), time.Now())
		if found == *new(E) {
			return nil, apiError(http.StatusNotFound, "there is no such entry: use GET /rate_limit/%s to see which there are", s.name)
		}
		i := s.index(entries, found.Common().ID)
		return slices.Delete(entries, i, i+1), nil
	})
	if err != nil {
		return nil, err
	}
	return answerWritten(w, answer), nil
}

// change writes a version in which apply has changed the list, and returns the entry with an ID as
// it is then, if there is one. note is the note of the version, unless the query has one.
func (s *entryResource[E]) change(c *Running, r *http.Request, id, note string, apply func([]E) ([]E, error)) (
	written E, answer *api.WrittenVersion, err error,
) {
	var changed *[]E
	if r.URL.Query().Has("note") || len(note) > rules.MaxReason { // too long a reason is reported as such
		note = ""
	}
	answer, err = updateFor(c, r, note, func(d *rules.Document) error {
		changed = s.list(d)
		entries, err := apply(*changed)
		if err == nil {
			*changed = entries
		}
		return err
	})
	if err != nil {
		return written, nil, rulesError(s.inBody(err, changed, id))
	}
	if i := s.index(*changed, id); i >= 0 {
		written = (*changed)[i]
	}
	return written, answer, nil
}

// inBody returns err with paths in the body of a request in place of paths in the rules. id is the
// ID of the entry that the request is about.
func (s *entryResource[E]) inBody(err error, entries *[]E, id string) error {
	var invalid *rules.InvalidError
	if entries == nil || !errors.As(err, &invalid) {
		return err
	}
	own := strictjson.Index(s.name, s.index(*entries, id))
	texts := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		path, isOwn := strings.CutPrefix(p.Path, own)
		if !isOwn {
			path = p.Path
		}
		if path = strings.TrimPrefix(path, "."); path != "" {
			path += ": "
		}
		texts[i] = path + p.Err.Error()
	}
	return apiError(http.StatusBadRequest, "%s", strings.Join(texts, "; "))
}

// complete returns the answer about a written entry, or about what a dry run would change. The
// answer has the limits that the entry results in, and warnings about it.
func (s *entryResource[E]) complete(
	c *Running, w http.ResponseWriter, r *http.Request, written E, answer *api.WrittenVersion,
) any {
	var beside struct {
		Limits   []api.OverriddenLimit `json:"limits,omitempty"`
		Warnings []string              `json:"warnings,omitempty"`
	}
	if key := written.OfKey(); key != nil {
		beside.Warnings = inspect.Warnings(r.Context(), c.Snapshot, c.Store, *key, s.counted)
	}
	if o, ok := any(written).(*rules.Override); ok {
		beside.Limits = inspect.Overridden(c.Snapshot, o)
	}
	if answer.DryRun {
		answer.Limits, answer.Warnings = beside.Limits, beside.Warnings
		return answer
	}
	w.Header().Set("ETag", etag(answer.Version))
	if len(beside.Limits)+len(beside.Warnings) == 0 {
		return written
	}
	entry, _ := json.Marshal(written) // it was written as JSON
	more, _ := json.Marshal(beside)
	return json.RawMessage(append(append(bytes.TrimSuffix(entry, []byte("}")), ','), more[1:]...))
}
