package adminapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

// getVersions answers GET /rate_limit/rules/versions.
func getVersions(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	before, err := queryInt(r, "before", 0, 1)
	if err != nil {
		return nil, err
	}
	limit, err := queryInt(r, "limit", api.DefaultVersions, 1)
	if err != nil {
		return nil, err
	}
	limit = min(limit, api.MaxVersions)
	versions, err := c.Watcher.Store().History(r.Context(), before, int(limit))
	if err != nil {
		return nil, storeError(err)
	}
	answer := api.Versions{Versions: versions}
	if versions == nil {
		answer.Versions = []*rules.Version{}
	}
	if n := len(versions); n == int(limit) && versions[n-1].Number > 1 {
		answer.Next = versions[n-1].Number
	}
	return answer, nil
}

// storeError returns err, an error of a read from the store of the rules, with the status of the
// answer.
func storeError(err error) error {
	if err := rulesError(err); statusOfError(err) != http.StatusInternalServerError {
		return err
	}
	return apiError(http.StatusServiceUnavailable, "the store of the rules cannot be read: %w: use it again when the store "+
		"answers", err)
}

// versionOf returns the version that the path of r names.
func versionOf(c *Running, r *http.Request) (*rules.Version, error) {
	text := r.PathValue("number")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return nil, apiError(http.StatusBadRequest, "%q is no version: use its number", text)
	}
	return numbered(r.Context(), c, number)
}

// numbered returns the version with a number. Version 0 has no rules.
func numbered(ctx context.Context, c *Running, number int64) (*rules.Version, error) {
	v, err := c.Watcher.Version(ctx, number)
	if err != nil {
		return nil, storeError(err)
	}
	return v, nil
}

// getVersion answers GET /rate_limit/rules/versions/{number}.
func getVersion(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	v, err := versionOf(c, r)
	if err != nil {
		return nil, err
	}
	answer := api.Version{Version: v}
	if v.Number > 0 {
		// The store may not keep the version before it any more. Then there is nothing to compare with.
		if before, err := numbered(r.Context(), c, v.Number-1); err == nil {
			answer.Changes, answer.More = listChanges(rules.Diff(before.Document, v.Document))
		}
	}
	return answer, nil
}

// getRulesDiff answers GET /rate_limit/rules/diff. By default it compares the version in force with
// the one before it.
func getRulesDiff(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	latest := c.Watcher.Latest().Number
	to, err := queryInt(r, "to", latest, 0)
	if err != nil {
		return nil, err
	}
	from, err := queryInt(r, "from", max(0, to-1), 0)
	if err != nil {
		return nil, err
	}
	var documents [2]*rules.Document
	for i, number := range []int64{from, to} {
		v, err := numbered(r.Context(), c, number)
		if err != nil {
			return nil, err
		}
		documents[i] = v.Document
	}
	answer := api.Diff{From: from, To: to}
	answer.Changes, answer.More = listChanges(rules.Diff(documents[0], documents[1]))
	return answer, nil
}

const exampleRollback = `{"note": "the launch is over"}`

// A noteRequest is the body of a request that has nothing but a reason.
type noteRequest struct {
	Note string `json:"note"`
}

// postRollback answers POST /rate_limit/rules/versions/{number}/rollback, which writes a version
// with the rules of an older one. Rules that do not fit the configuration any more do not prevent
// it.
func postRollback(c *Running, w http.ResponseWriter, r *http.Request, body *noteRequest) (any, error) {
	old, err := versionOf(c, r)
	if err != nil {
		return nil, err
	}
	change, err := newChange(r, body.Note)
	if err != nil {
		return nil, err
	}
	v, err := c.Watcher.Rollback(r.Context(), old.Number, change)
	if err != nil {
		return nil, rulesError(err)
	}
	return answerWritten(w, newWrittenVersion(v, change.DryRun)), nil
}
