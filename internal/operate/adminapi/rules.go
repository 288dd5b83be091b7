package adminapi

import (
	"net/http"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
	"github.com/fleetlimit/fleetlimit/rules"
)

const exampleRules = `{"zones": {"user": {"limit": "100/1m"}}}`

// getRules answers GET /rate_limit/rules.
func getRules(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	v := c.Watcher.Latest()
	if notModified(w, r, v.Number) {
		return nil, nil
	}
	if !strings.Contains(r.Header.Get("Accept"), "yaml") {
		return v.Document, nil
	}
	text, err := EncodeYAML(v.Document)
	if err != nil {
		return nil, err
	}
	writeText(w, mediaYAML, text)
	return nil, nil
}

// replaceRules answers PUT /rate_limit/rules, which replaces all rules.
func replaceRules(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	if err := needIfMatch(r); err != nil {
		return nil, err
	}
	if err := refuseOutdated(c, r); err != nil {
		return nil, err
	}
	body, mediaType, err := readBody(w, r, maxRulesBody, mediaJSON, mediaYAML)
	if err != nil {
		return nil, err
	}
	decode := strictjson.Decode
	if mediaType == mediaYAML {
		decode = DecodeYAML
	}
	value, err := decode(body)
	if err != nil {
		return nil, badBody(err, exampleRules)
	}
	document := new(rules.Document)
	if err := strictjson.Convert(value, document); err != nil {
		return nil, badBody(err, exampleRules)
	}
	return writeRules(c, w, r, func(d *rules.Document) error {
		*d = *document.Clone()
		return nil
	})
}

// needIfMatch refuses a change without If-Match, because it could undo, unnoticed, what somebody
// else changes at the same time.
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

// refuseOutdated refuses a change of a version that this node knows to be replaced, before the body
// is read. Whether the version is in force turns out when the change is written.
func refuseOutdated(c *Running, r *http.Request) error {
	expected, _, err := ifMatch(r)
	if latest := c.Watcher.Latest(); err == nil && expected != nil && *expected < latest.Number {
		return rulesError(rules.NotInForce(latest, *expected))
	}
	return err
}

// patchRules answers PATCH /rate_limit/rules, which is a JSON merge patch.
func patchRules(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	if err := refuseOutdated(c, r); err != nil {
		return nil, err
	}
	body, _, err := readBody(w, r, maxRulesBody, mediaJSON, mediaMergePatch)
	if err != nil {
		return nil, err
	}
	patch, err := strictjson.Decode(body)
	if err != nil {
		return nil, badBody(err, exampleRules)
	}
	members, _ := patch.(map[string]any)
	for _, member := range members {
		if _, isList := member.([]any); isList {
			if err := needIfMatch(r); err != nil {
				return nil, err
			}
		}
	}
	return writeRules(c, w, r, func(d *rules.Document) error {
		merged, err := rules.Merge(d, patch)
		if err != nil {
			return badBody(err, exampleRules)
		}
		*d = *merged
		return nil
	})
}

// writeRules writes a version in which apply has changed the document, and answers with it.
func writeRules(c *Running, w http.ResponseWriter, r *http.Request, apply func(*rules.Document) error) (any, error) {
	answer, err := updateFor(c, r, "", apply)
	if err != nil {
		return nil, rulesError(err)
	}
	return answerWritten(w, answer), nil
}
