package fleetlimit

import (
	"net/http"
	"strconv"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

// getVersions answers GET /rate_limit/rules/versions.
func getVersions(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	before, err := queryInt(r, "before", 0, 1)
	if err != nil {
		return err
	}
	limit, err := queryInt(r, "limit", adminapi.DefaultVersions, 1)
	if err != nil {
		return err
	}
	limit = min(limit, adminapi.MaxVersions)
	versions, err := running.watcher.Store().History(r.Context(), before, int(limit))
	if err != nil {
		return storeError(err)
	}
	answer := adminapi.Versions{Versions: versions}
	if versions == nil {
		answer.Versions = []*rules.Version{}
	}
	if n := len(versions); n == int(limit) && versions[n-1].Number > 1 {
		answer.Next = versions[n-1].Number
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// storeError returns err, of reading a store of rules, as one that Caddy answers with its status.
func storeError(err error) error {
	if err := rulesError(err); statusOfError(err) != http.StatusInternalServerError {
		return err
	}
	return apiError(http.StatusServiceUnavailable, "the store of the rules cannot be read: %w: use it again when the store "+
		"answers", err)
}

// numbered returns the version with the number that text has. Version 0 has no rules.
func numbered(r *http.Request, running *runningApp, text string) (*rules.Version, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return nil, apiError(http.StatusBadRequest, "%q is no version: use its number", text)
	}
	if number == 0 {
		return &rules.Version{Document: new(rules.Document)}, nil
	}
	if latest := running.watcher.Latest(); latest.Number == number {
		return latest, nil
	}
	v, err := running.watcher.Store().Version(r.Context(), number)
	if err != nil {
		return nil, storeError(err)
	}
	return v, nil
}

// getVersion answers GET /rate_limit/rules/versions/{number}.
func getVersion(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	v, err := numbered(r, running, r.PathValue("number"))
	if err != nil {
		return err
	}
	answer := adminapi.Version{Version: v}
	if v.Number > 0 {
		// The version before it may be gone: then there is nothing to compare with.
		if before, err := numbered(r, running, strconv.FormatInt(v.Number-1, 10)); err == nil {
			listed := newWrittenVersion(v, rules.Diff(before.Document, v.Document), false)
			answer.Changes, answer.More = listed.Changes, listed.More
		}
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// getRulesDiff answers GET /rate_limit/rules/diff. By default it compares the version in force with
// the one before it.
func getRulesDiff(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	latest := running.watcher.Latest().Number
	to, err := queryInt(r, "to", latest, 0)
	if err != nil {
		return err
	}
	from, err := queryInt(r, "from", max(0, to-1), 0)
	if err != nil {
		return err
	}
	var documents [2]*rules.Document
	for i, number := range []int64{from, to} {
		v, err := numbered(r, running, strconv.FormatInt(number, 10))
		if err != nil {
			return err
		}
		documents[i] = v.Document
	}
	listed := newWrittenVersion(new(rules.Version), rules.Diff(documents[0], documents[1]), false)
	writeJSON(w, http.StatusOK, adminapi.Diff{From: from, To: to, Changes: listed.Changes, More: listed.More})
	return nil
}

// A noteRequest is the body of a request that needs nothing but a reason.
type noteRequest struct {
	Note string `json:"note"`
}

// postRollback answers POST /rate_limit/rules/versions/{number}/rollback, which writes a version with
// the rules of an older one. What the configuration has lost since does not prevent it.
func postRollback(w http.ResponseWriter, r *http.Request) error {
	var body noteRequest
	if err := readJSON(w, r, &body, `{"note": "the launch is over"}`); err != nil {
		return err
	}
	running, err := runningRules()
	if err != nil {
		return err
	}
	old, err := numbered(r, running, r.PathValue("number"))
	if err != nil {
		return err
	}
	expected, _, err := ifMatch(r)
	if err != nil {
		return err
	}
	dryRun, err := queryBool(r, "dry_run")
	if err != nil {
		return err
	}
	note, err := noteOf(r, body.Note)
	if err != nil {
		return err
	}
	before := running.watcher.Latest()
	v, err := running.watcher.Rollback(r.Context(), old.Number, rules.Change{
		Expected: expected, Author: clientOf(r), Note: note, DryRun: dryRun,
	})
	if err != nil {
		return rulesError(err)
	}
	if before.Number != v.Number-1 { // somebody has written meanwhile
		if replaced, err := numbered(r, running, strconv.FormatInt(v.Number-1, 10)); err == nil {
			before = replaced
		}
	}
	answerWritten(w, newWrittenVersion(v, rules.Diff(before.Document, v.Document), dryRun))
	return nil
}
