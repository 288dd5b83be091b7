package adminapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// A parameter is a parameter in openapi.json, or a reference to one.
type parameter struct {
	Ref  string `json:"$ref"`
	In   string `json:"in"`
	Name string `json:"name"`
}

// queryParameters are the names of the query parameters by path and method, as openapi.json has
// them.
var queryParameters = sync.OnceValue(func() map[string]map[string][]string {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`

		Components struct {
			Parameters map[string]parameter `json:"parameters"`
		} `json:"components"`
	}
	_ = json.Unmarshal(OpenAPI, &document) // a test reads all of it
	names := func(all []parameter) (in []string) {
		for _, p := range all {
			if name, isRef := strings.CutPrefix(p.Ref, "#/components/parameters/"); isRef {
				p = document.Components.Parameters[name]
			}
			if p.In == "query" {
				in = append(in, p.Name)
			}
		}
		return in
	}
	byPath := make(map[string]map[string][]string)
	for path, members := range document.Paths {
		var ofPath []parameter
		_ = json.Unmarshal(members["parameters"], &ofPath) // most paths have none
		byPath[path] = make(map[string][]string)
		for method, text := range members {
			var operation struct{ Parameters []parameter }
			_ = json.Unmarshal(text, &operation) // the member "parameters" is no operation
			byPath[path][strings.ToUpper(method)] = append(names(ofPath), names(operation.Parameters)...)
		}
	}
	return byPath
})

// checkQuery refuses query parameters that would have no effect. method is the method of a handler,
// which is GET for HEAD.
func checkQuery(path, method string, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return apiError(http.StatusBadRequest, "the query cannot be read: %w: use %%25 for a percent sign", err)
	}
	known := queryParameters()[path][method]
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case slices.Contains(known, name):
		case strings.HasPrefix(name, "key"):
			return apiError(http.StatusBadRequest, "%s is in the query, and logs have queries: use POST with a body such as %s", name,
				exampleInspect)
		case len(known) == 0:
			return apiError(http.StatusBadRequest, "there is a parameter %q: use none", name)
		default:
			return apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("a parameter", name, known, nil))
		}
	}
	return nil
}
