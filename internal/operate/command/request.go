package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An apiRequest is a request to the admin API.
type apiRequest struct {
	method string
	path   string // below /rate_limit/
	query  url.Values
	header http.Header
	body   any    // a []byte is sent as it is, nil is none, anything else becomes JSON
	config []byte // configuration that --config names, with the address of the admin endpoint; nil if it is not read yet
}

func newRequest(method, path string, body any) *apiRequest {
	return &apiRequest{method: method, path: path, query: url.Values{}, header: http.Header{}, body: body}
}

func getRequest(path string) *apiRequest { return newRequest(http.MethodGet, path, nil) }

// getting returns a function that returns a GET request for a path, whatever the arguments. The
// query of the request has those of the named flags that were used.
func getting(path string, flags ...string) func(*cobra.Command, []string) (*apiRequest, error) {
	return func(cmd *cobra.Command, _ []string) (*apiRequest, error) {
		r := getRequest(path)
		r.query = usedQuery(cmd.Flags(), flags...)
		return r, nil
	}
}

// zonePath returns the path of a resource of a zone.
func zonePath(zone, resource string) string { return "zones/" + url.PathEscape(zone) + "/" + resource }

// changeFlags adds the flags of commands that change the rules. One of them is --note, for the
// reason of a change that adds no entry with a reason.
func changeFlags(f *pflag.FlagSet) {
	f.String("note", "", "Why, for the history of the rules")
	ruleFlags(f)
}

// ruleFlags adds the flags of all commands that change the rules.
func ruleFlags(f *pflag.FlagSet) {
	authorFlag(f)
	f.Bool("dry-run", false, "Show what would change, and change nothing")
	f.String("if-match", "", "Version that must be in force, or else nothing changes; * is any")
}

// withChangeFlags adds what the flags of changeFlags say.
func (r *apiRequest) withChangeFlags(f *pflag.FlagSet) *apiRequest {
	if dryRun, _ := f.GetBool("dry-run"); dryRun {
		r.query.Set("dry_run", "true")
	}
	if note, _ := f.GetString("note"); note != "" {
		r.query.Set("note", note)
	}
	if version, _ := f.GetString("if-match"); version != "" {
		if version != "*" {
			version = `"` + strings.Trim(version, `"`) + `"`
		}
		r.header.Set("If-Match", version)
	}
	return r
}

// usedQuery returns the flags among names that were used, as a query.
func usedQuery(f *pflag.FlagSet, names ...string) url.Values {
	query := url.Values{}
	for _, name := range names {
		if f.Changed(name) {
			query.Set(name, f.Lookup(name).Value.String())
		}
	}
	return query
}

func (r *apiRequest) isDryRun() bool { return r.query.Get("dry_run") == "true" }

// send sends the request to the admin endpoint that the flags of cmd name, and returns the body and
// the ETag of the answer.
func (r *apiRequest) send(cmd *cobra.Command) (body []byte, etag string, err error) {
	resp, err := r.open(cmd)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, "", fmt.Errorf("reading the answer of the admin endpoint: %w: use the command again", err)
	}
	return body, resp.Header.Get("ETag"), nil
}

// open sends the request as send does, and returns the answer for the caller to read.
func (r *apiRequest) open(cmd *cobra.Command) (*http.Response, error) {
	address, err := adminAddress(cmd.Flags(), r.config)
	if err != nil {
		return nil, err
	}
	var content io.Reader
	switch b := r.body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	query := maps.Clone(r.query)
	if author := authorOf(cmd.Flags()); author != "" && r.method != http.MethodGet {
		query.Set("author", author)
	}
	uri := "/rate_limit/" + r.path
	if len(query) > 0 {
		uri += "?" + query.Encode()
	}
	if isRemote(cmd.Flags()) {
		return r.openRemote(cmd, address, uri, content)
	}
	resp, err := caddycmd.AdminAPIRequest(address, r.method, uri, r.header, content)
	if err != nil {
		return nil, apiFailure(address, err)
	}
	return resp, nil
}

// adminAddress returns the address of the admin endpoint. known is the configuration of --config,
// or nil if it has not been read.
func adminAddress(f *pflag.FlagSet, known []byte) (string, error) {
	address, _ := f.GetString("address")
	if _, rest, isURL := strings.Cut(address, "://"); isURL {
		return "", fmt.Errorf("--address is %s: use %s", address, strings.TrimRight(rest, "/"))
	}
	config, _ := f.GetString("config")
	adapter, _ := f.GetString("adapter")
	address, err := caddycmd.DetermineAdminAPIAddress(address, known, config, adapter)
	if err != nil {
		return "", fmt.Errorf("reading the address of the admin endpoint from %s: %w: use --address", config, err)
	}
	return address, nil
}

// apiFailure returns an error of AdminAPIRequest in the words of the admin API.
func apiFailure(address string, err error) error {
	_, answer, answered := strings.Cut(err.Error(), "caddy responded with error: HTTP ")
	if !answered {
		return fmt.Errorf("there is no answer from %s: %s: use --address for the admin endpoint of a Caddy that runs",
			address, printable(err.Error()))
	}
	status, body, _ := strings.Cut(answer, ": ")
	return refusal(address, status, []byte(body))
}

// refusal returns the error of an answer with a status.
func refusal(address, status string, body []byte) error {
	var refused caddy.APIError
	if json.Unmarshal(body, &refused) == nil && refused.Message != "" {
		return errors.New(printable(asCommands(refused.Message)))
	}
	return fmt.Errorf("the Caddy at %s answers with status %s: use one that has rate_limit", address, status)
}
