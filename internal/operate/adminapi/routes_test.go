package adminapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The document has each path and method of the API, and no other. test/openapi checks the rest.
func TestOpenAPIHasAllRoutes(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	described, served := map[string]bool{}, map[string]bool{}
	for path, item := range document.Paths {
		for method := range item {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	for path, methods := range routes {
		for method := range methods {
			served[method+" "+path] = true
		}
	}
	if !maps.Equal(described, served) {
		t.Errorf("the document has %v\nthe API has %v", slices.Sorted(maps.Keys(described)), slices.Sorted(maps.Keys(served)))
	}
}
