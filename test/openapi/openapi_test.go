// Package openapi checks openapi.json of the admin API: that it is valid, and that it describes the answers
// of the API. The package is a module of its own, so that users do not inherit the validator.
package openapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// An exchange is a request to the admin API and its response, as the tests of test/integration
// record them.
type exchange struct {
	Method, Path   string
	RequestHeader  http.Header
	RequestBody    []byte
	Status         int
	ResponseHeader http.Header
	ResponseBody   []byte
}

func load(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile("../../internal/operate/adminapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	return document, router
}

// The validator does not know JSON lines. The document describes them as the array of their values.
func init() {
	openapi3filter.RegisterBodyDecoder("application/x-ndjson",
		func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
			values := []any{}
			for d := json.NewDecoder(body); ; {
				var value any
				if err := d.Decode(&value); err == io.EOF {
					return values, nil
				} else if err != nil {
					return nil, err
				}
				values = append(values, value)
			}
		})
}

var exchangesFlag = flag.String("exchanges", "",
	"the exchanges that tests of test/integration have recorded; by default, they run and record some")

// recorded returns the file with the exchanges.
func recorded(t *testing.T) string {
	if *exchangesFlag != "" {
		return *exchangesFlag
	}
	file := filepath.Join(t.TempDir(), "exchanges")
	command := exec.Command("go", "test", "-vet=off", "-count=1", "-run", "Admin|Rules|Emergency|Ready|CommandsOfPages|Remove", "./test/integration")
	command.Dir = "../.."
	command.Env = append(os.Environ(), "FLEETLIMIT_EXCHANGES="+file)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestExchanges compares the requests and responses of the tests of the admin API with the document. Each
// operation of the document must have been used with success.
func TestExchanges(t *testing.T) {
	document, router := load(t)
	file, err := os.Open(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()

	used := make(map[string]bool)
	n := 0
	for d := json.NewDecoder(file); ; n++ {
		var e exchange
		if err := d.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		operation, err := check(t, router, &e)
		if err != nil {
			t.Errorf("%s %s with %.300s: %d %.500s:\n%v", e.Method, e.Path, e.RequestBody, e.Status, e.ResponseBody, err)
		}
		if e.Status < 300 {
			used[operation] = true
		}
	}
	t.Logf("exchanges = %d", n)
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if !used[operation.OperationID] {
				t.Errorf("no test has used %s %s with success", method, path)
			}
		}
	}
}

// check compares an exchange with the document, and returns its operation. A request that the API has refused
// need not be valid.
func check(t *testing.T, router routers.Router, e *exchange) (operation string, err error) {
	if e.Status >= http.StatusInternalServerError && e.Status != http.StatusServiceUnavailable {
		return "", fmt.Errorf("the status is %d", e.Status)
	}
	if refusedByCaddy(e) || e.Method == http.MethodHead {
		return "", nil
	}
	r, err := http.NewRequest(e.Method, "http://localhost:2019"+e.Path, bytes.NewReader(e.RequestBody))
	if err != nil {
		return "", err
	}
	r.Header = e.RequestHeader
	route, parameters, err := router.FindRoute(r)
	if err != nil {
		if e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed {
			return "", nil
		}
		return "", err
	}
	input := &openapi3filter.RequestValidationInput{Request: r, Route: route, PathParams: parameters}
	if e.Status < 400 {
		if err := openapi3filter.ValidateRequest(t.Context(), input); err != nil {
			return "", fmt.Errorf("the request: %w", err)
		}
	}
	return route.Operation.OperationID, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: e.Status, Header: e.ResponseHeader,
		Body:    io.NopCloser(bytes.NewReader(e.ResponseBody)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
}

// refusedByCaddy reports whether Caddy has refused a request before it reached the API.
func refusedByCaddy(e *exchange) bool {
	return e.Status == http.StatusForbidden || e.Status == http.StatusBadRequest &&
		(e.RequestHeader.Get("Origin") == "null" || strings.Contains(e.RequestHeader.Get("Sec-Fetch-Mode"), "no-cors"))
}
