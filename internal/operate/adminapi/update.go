package adminapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
	"github.com/fleetlimit/fleetlimit/rules"
)

// maxChanges is how many changes an answer lists.
const maxChanges = 1000

// listChanges returns the changes that an answer lists, and how many more there are.
func listChanges(changes []rules.Difference) (listed []rules.Difference, more int) {
	listed = changes[:min(len(changes), maxChanges)]
	return listed, len(changes) - len(listed)
}

func newWrittenVersion(v *rules.Written, dryRun bool) *api.WrittenVersion {
	listed, more := listChanges(v.Changes)
	return &api.WrittenVersion{
		Version: v.Number, Time: v.Time, Author: v.Author, Note: v.Note, DryRun: dryRun, Changes: listed, More: more,
	}
}

// newChange returns a change by the client of r that does nothing yet. Its note is note or, if that
// is empty, the note in the query.
func newChange(r *http.Request, note string) (c rules.Change, err error) {
	if c.Author, err = authorOf(r); err != nil {
		return c, err
	}
	if c.Expected, _, err = ifMatch(r); err != nil {
		return c, err
	}
	if c.DryRun, err = queryBool(r, "dry_run"); err != nil {
		return c, err
	}
	if note == "" {
		note = r.URL.Query().Get("note")
	}
	if len(note) > rules.MaxReason {
		return c, apiError(http.StatusBadRequest, "the note has %d bytes: use at most %d", len(note), rules.MaxReason)
	}
	c.Note = strings.ToValidUTF8(note, "\uFFFD")
	return c, nil
}

// update writes a version with change, in which apply has changed the document. If apply is nil,
// there are only actions.
func update(ctx context.Context, c *Running, change rules.Change, apply func(*rules.Document) error) (
	*api.WrittenVersion, error,
) {
	if apply != nil {
		change.Apply = func(d *rules.Document) error {
			now, old := time.Now(), d.Clone()
			if err := apply(d); err != nil {
				return err
			}
			return rules.Accept(d, old, c.Schema(), change.Author, now)
		}
	}
	v, err := c.Watcher.Update(ctx, change)
	if err != nil {
		return nil, err
	}
	return newWrittenVersion(v, change.DryRun), nil
}

// updateFor writes a version as update does, in the name of the client of r. Callers pass its
// errors to rulesError.
func updateFor(c *Running, r *http.Request, note string, apply func(*rules.Document) error) (*api.WrittenVersion, error) {
	change, err := newChange(r, note)
	if err != nil {
		return nil, err
	}
	return update(r.Context(), c, change, apply)
}

// rulesError returns err, an error of package rules, with the status of the answer.
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

// answerWritten returns the answer to a request that has written a version, or would.
func answerWritten(w http.ResponseWriter, answer *api.WrittenVersion) any {
	if !answer.DryRun {
		w.Header().Set("ETag", etag(answer.Version))
	}
	return answer
}
