//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/rules"
)

const site = `http://127.0.0.1:%d {
	rate_limit {
		zone user {
			key   {http.request.header.X-Api-Key}
			limit 100/1m
		}
	}
	respond ok
}
`

// measure measures a store, and prints its row.
func (s *store) measure(o options) error {
	dir, err := os.MkdirTemp("", "bench-rules")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	option, size, end, err := s.open(dir)
	if err != nil {
		return err
	}
	defer end()
	global := fmt.Sprintf("\tstorage file_system %s/storage\n\trate_limit {\n\t\t%s\n\t}\n", dir, option)
	p, err := caddy.StartSites(o.binary, dir, global, func(port int) string { return fmt.Sprintf(site, port) })
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := fill(p.Admin, o.overrides); err != nil {
		return err
	}
	before, err := size()
	if err != nil {
		return err
	}
	var added, changed, removed report.Series
	for i := range o.changes {
		id := fmt.Sprint("new", i)
		for _, step := range []struct {
			series             *report.Series
			method, path, body string
		}{
			{&added, http.MethodPost, "", fmt.Sprintf(`{"id": %q, "zone": "user", "key": %q, "limit": "5000/1m"}`, id, id)},
			{&changed, http.MethodPatch, fmt.Sprint("/", i*o.overrides/o.changes), fmt.Sprintf(`{"limit": "%d/1m"}`, 5000+i)},
			{&removed, http.MethodDelete, "/" + id, ""},
		} {
			took, err := request(p.Admin, step.method, "overrides"+step.path, []byte(step.body))
			if err != nil {
				return err
			}
			*step.series = append(*step.series, took)
		}
	}
	after, err := size()
	if err != nil {
		return err
	}
	row := []any{s.name}
	for _, series := range []report.Series{added, changed, removed} {
		row = append(row, series.Spread("%.0f", ""))
	}
	report.Row(append(row, fmt.Sprintf("%d B", (after-before)/int64(3*o.changes)))...)
	return nil
}

// fill puts n overrides in force. It then changes one of them, because the first change makes what all
// later changes use.
func fill(admin string, n int) error {
	var d rules.Document
	for i := range n {
		d.Overrides = append(d.Overrides, &rules.Override{
			Entry: rules.Entry{ID: fmt.Sprint(i)}, Key: rules.Key{Zone: "user", Text: fmt.Sprint("k", i)},
			Limit: fmt.Sprintf("%d/1m", 1000+i%500),
		})
	}
	body, err := json.Marshal(&d)
	if err != nil {
		return err
	}
	for range 100 { // until the configuration runs
		if _, err = request(admin, http.MethodGet, "status", nil); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if _, err = request(admin, http.MethodPut, "rules", body); err != nil {
		return err
	}
	_, err = request(admin, http.MethodPatch, "overrides/0", []byte(`{"limit": "1/1m"}`))
	return err
}

// request sends a request to the admin API. It returns the time until the response has been read, in
// ms.
func request(admin, method, path string, body []byte) (milliseconds float64, err error) {
	r, err := http.NewRequest(method, "http://"+admin+"/rate_limit/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("If-Match", "*")
	began := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	took := time.Since(began)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s\n%s", method, path, response.Status, said)
	}
	return took.Seconds() * 1e3, err
}
