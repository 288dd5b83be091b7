package nodetest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Get requests a path. Headers are written as "Name: value".
func (n *Node) Get(path string, headers ...string) (status int, header http.Header, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+n.Addr+path, nil)
	if err != nil {
		return 0, nil, err
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := n.Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, err
}

// MustGet does what Get does, and fails the test unless the response has this status.
func (n *Node) MustGet(status int, path string, headers ...string) http.Header {
	n.t.Helper()
	got, header, err := n.Get(path, headers...)
	if err != nil {
		n.t.Fatal(err)
	}
	if got != status {
		n.t.Errorf("GET %s with %v = %d, want %d; headers %v", path, headers, got, status, header)
	}
	return header
}

// AwaitStatus sends requests with an API key until one has this status, and returns how long that
// took.
func (n *Node) AwaitStatus(status int, key string) time.Duration {
	n.t.Helper()
	began := time.Now()
	n.Await(fmt.Sprintf("status %d of %s", status, key), func() bool {
		got, _, err := n.Get("/", "X-Api-Key: "+key)
		return err == nil && got == status
	})
	return time.Since(began)
}

// Send sends requests one after the other, at most one in each period, until stop is called. request returns
// the path and a header of request i. Send ignores the responses.
func (n *Node) Send(every time.Duration, request func(i int) (path, header string)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			path, header := request(i)
			_, _, _ = n.Get(path, header)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		sending.Wait()
	}
}

// Ask sends a request to the admin API, whatever version of the rules is in force, and returns the
// answer.
func (n *Node) Ask(method, path, body string) (status int, answer string) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, "http://"+n.Admin+"/rate_limit/"+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("If-Match", "*")
	return n.received(n.Client.Do(req))
}

// received returns the status and the body of a response. It fails the test if there is none.
func (n *Node) received(resp *http.Response, err error) (status int, body string) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// MustAsk does what Ask does, and fails the test unless the request succeeds.
func (n *Node) MustAsk(method, path, body string) (answer string) {
	n.t.Helper()
	status, answer := n.Ask(method, path, body)
	if status/100 != 2 {
		n.t.Fatalf("%s %s = %d %s", method, path, status, answer)
	}
	return answer
}

// Metric returns the sum of the series with a name and labels, 0 if there is none.
func (n *Node) Metric(series string) float64 {
	n.t.Helper()
	_, text := n.received(n.Client.Get("http://" + n.Admin + "/metrics"))
	sum := 0.0
	for line := range strings.Lines(text) {
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || !Matches(line[:end], series) {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(line[end:]), 64)
		if err != nil {
			n.t.Fatal(err)
		}
		sum += f
	}
	return sum
}
