package nodetest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// InRedis returns the option of nodes that count in the Redis at an address, with more lines for its
// block.
func InRedis(addr string, settings ...string) string {
	return "redis {\n\taddress " + addr + "\n\t" + strings.Join(settings, "\n\t") + "\n}"
}

// UserSite returns a site whose zone user counts by API key. More lines for the zone may follow the
// limit.
func UserSite(limit string) string {
	return "\trate_limit {\n\t\tzone user {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit " + limit + "\n\t\t}\n\t}"
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

// Send sends one request after the other, and one in a time at most, until stop is called. request
// returns the path and a header of the ith. What becomes of them is not looked at.
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
	resp, err := n.Client.Do(req)
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

// MustAsk is Ask for a request that must succeed.
func (n *Node) MustAsk(method, path, body string) (answer string) {
	n.t.Helper()
	status, answer := n.Ask(method, path, body)
	if status/100 != 2 {
		n.t.Fatalf("%s %s = %d %s", method, path, status, answer)
	}
	return answer
}
