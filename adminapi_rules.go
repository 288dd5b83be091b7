package fleetlimit

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/strictjson"
	"github.com/fleetlimit/fleetlimit/rules"
)

const exampleRules = `{"zones": {"user": {"limit": "100/1m"}}}`

// A rulesChange is a change of the rules by a client of the admin API.
type rulesChange struct {
	apply   func(*rules.Document) error // nil: only actions
	actions []rules.Action
	note    string // empty: that of the query
}

// maxChanges is how many changes an answer lists.
const maxChanges = 1000

func newWrittenVersion(v *rules.Version, changes []rules.Difference, dryRun bool) adminapi.WrittenVersion {
	listed := changes[:min(len(changes), maxChanges)]
	return adminapi.WrittenVersion{
		Version: v.Number, Time: v.Time, Author: v.Author, Note: v.Note, DryRun: dryRun,
		Changes: listed, More: len(changes) - len(listed),
	}
}

// changeRules does c for the client of r. Its errors are for rulesError.
func changeRules(r *http.Request, c rulesChange) (answer adminapi.WrittenVersion, err error) {
	running, err := runningRules()
	if err != nil {
		return answer, err
	}
	expected, _, err := ifMatch(r)
	if err != nil {
		return answer, err
	}
	dryRun, err := queryBool(r, "dry_run")
	if err != nil {
		return answer, err
	}
	note, err := noteOf(r, c.note)
	if err != nil {
		return answer, err
	}
	changes := []rules.Difference{}
	change := rules.Change{
		Expected: expected, Author: clientOf(r), Note: note, Actions: c.actions, DryRun: dryRun,
	}
	if c.apply != nil {
		change.Apply = func(d *rules.Document) error {
			now, old := time.Now(), d.Clone()
			if err := c.apply(d); err != nil {
				return err
			}
			d.Sign(old, change.Author, now)
			if err := rules.Validate(d, old, running.schema, now); err != nil {
				return err
			}
			d.DropExpired(now)
			changes = rules.Diff(old, d)
			return nil
		}
	}
	v, err := running.watcher.Update(r.Context(), change)
	if err != nil {
		return answer, err
	}
	return newWrittenVersion(v, changes, dryRun), nil
}

// noteOf returns the note of a version: note, or else that of the query.
func noteOf(r *http.Request, note string) (string, error) {
	if note == "" {
		note = r.URL.Query().Get("note")
	}
	if len(note) > rules.MaxReason {
		return "", apiError(http.StatusBadRequest, "the note has %d bytes: use at most %d", len(note), rules.MaxReason)
	}
	return strings.ToValidUTF8(note, "\uFFFD"), nil
}

// rulesError returns err, of the package rules, as one that Caddy answers with its status.
func rulesError(err error) error {
	status := http.StatusInternalServerError
	switch {
	case err == nil:
		return nil
	case statusOfError(err) != 0:
		return err
	case errors.As(err, new(*rules.InvalidError)), errors.As(err, new(*strictjson.Error)):
		status = http.StatusBadRequest
	case errors.Is(err, rules.ErrConflict):
		return apiError(http.StatusPreconditionFailed, "%w: use the ETag of what is in force now, after you have looked at it", err)
	case errors.Is(err, rules.ErrNotFound):
		return apiError(http.StatusNotFound, "%w: use GET /rate_limit/rules/versions to see which there are", err)
	case errors.Is(err, rules.ErrUnavailable):
		return apiError(http.StatusServiceUnavailable, "%w; the rules in force stay in force: use GET /rate_limit/rules to see "+
			"whether it was written, and try again", err)
	}
	return apiError(status, "%w", err)
}

// getRules answers GET /rate_limit/rules.
func getRules(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	v := running.watcher.Latest()
	if notModified(w, r, v.Number) {
		return nil
	}
	if !strings.Contains(r.Header.Get("Accept"), "yaml") {
		writeJSON(w, http.StatusOK, v.Document)
		return nil
	}
	text, err := adminapi.EncodeYAML(v.Document)
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = []string{mediaYAML}
	w.Header()["Cache-Control"] = noStore
	_, _ = w.Write(text) // it fails if the client has gone, which needs no error
	return nil
}

// replaceRules answers PUT /rate_limit/rules, which replaces all rules.
func replaceRules(w http.ResponseWriter, r *http.Request) error {
	body, mediaType, err := readBody(w, r, maxRulesBody, mediaJSON, mediaYAML)
	if err != nil {
		return err
	}
	decode := strictjson.Decode
	if mediaType == mediaYAML {
		decode = adminapi.DecodeYAML
	}
	value, err := decode(body)
	if err != nil {
		return badBody(err, exampleRules)
	}
	document := new(rules.Document)
	if err := strictjson.Convert(value, document); err != nil {
		return badBody(err, exampleRules)
	}
	if err := needIfMatch(r); err != nil {
		return err
	}
	return writeChange(w, r, rulesChange{apply: func(d *rules.Document) error {
		*d = *document.Clone()
		return nil
	}})
}

// needIfMatch refuses a change that could undo, unseen, what somebody else does at the same time.
func needIfMatch(r *http.Request) error {
	if dryRun, _ := queryBool(r, "dry_run"); dryRun {
		return nil
	}
	if _, found, err := ifMatch(r); found || err != nil {
		return err
	}
	return apiError(http.StatusPreconditionRequired, "this replaces what others may have changed meanwhile: use If-Match with "+
		"the ETag of GET /rate_limit/rules, or with * to replace it whatever it is")
}

// patchRules answers PATCH /rate_limit/rules, which is a JSON merge patch.
func patchRules(w http.ResponseWriter, r *http.Request) error {
	body, _, err := readBody(w, r, maxRulesBody, mediaJSON, mediaMergePatch)
	if err != nil {
		return err
	}
	patch, err := strictjson.Decode(body)
	if err != nil {
		return badBody(err, exampleRules)
	}
	members, _ := patch.(map[string]any)
	for _, member := range members {
		if _, isList := member.([]any); isList {
			if err := needIfMatch(r); err != nil {
				return err
			}
		}
	}
	return writeChange(w, r, rulesChange{apply: func(d *rules.Document) error {
		// The patch is decoded again for each try, because merging uses it.
		patch, err := strictjson.Decode(body)
		if err != nil {
			return err
		}
		merged, err := rules.Merge(d, patch)
		if err != nil {
			return badBody(err, exampleRules)
		}
		*d = *merged
		return nil
	}})
}

// writeChange does c and answers with the version.
func writeChange(w http.ResponseWriter, r *http.Request, c rulesChange) error {
	answer, err := changeRules(r, c)
	if err != nil {
		return rulesError(err)
	}
	answerWritten(w, answer)
	return nil
}

func answerWritten(w http.ResponseWriter, answer adminapi.WrittenVersion) {
	if !answer.DryRun {
		w.Header().Set("ETag", etag(answer.Version))
	}
	writeJSON(w, http.StatusOK, answer)
}
