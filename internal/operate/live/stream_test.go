package live

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// idle is a process whose configuration limits nothing.
var idle = &adminapi.Process{
	Running:  func() *adminapi.Running { return nil },
	Starting: func() bool { return false },
}

// All viewers get the same bytes, and the goroutine ends with the last of them.
func TestViewersShareSnapshots(t *testing.T) {
	s := NewStream(idle)
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Serve(w, r, r.URL.Path == "/changes", ended)
	}))
	defer server.Close()
	if n := loops(); n != 0 {
		t.Fatalf("goroutines without a viewer = %d, want 0", n)
	}
	first, leaveFirst := watch(t, server.URL+"/changes")
	second, leaveSecond := watch(t, server.URL)
	for i, lines := range []*bufio.Scanner{first, second} {
		var hello Hello
		if err := json.Unmarshal([]byte(nextOf(t, lines, "hello")), &hello); err != nil || hello.Changes != (i == 0) {
			t.Errorf("hello %d = %+v, %v", i, hello, err)
		}
	}
	one, two := map[string]bool{}, ""
	for range 3 {
		one[nextOf(t, first, "snapshot")] = true
	}
	for range 2 {
		two = nextOf(t, second, "snapshot")
	}
	if !one[two] {
		t.Errorf("a snapshot of the second viewer is none of the first: %s\n%v", two, one)
	}
	if !strings.Contains(two, "limits nothing") {
		t.Errorf("snapshot = %s, want the reason why there is no status", two)
	}
	if n := loops(); n != 1 {
		t.Errorf("goroutines with two viewers = %d, want 1", n)
	}
	leaveFirst()
	close(ended) // the server shuts down
	if second.Scan(); second.Err() == nil {
		for second.Scan() { // until the response ends
		}
	}
	leaveSecond()
	for deadline := time.Now().Add(5 * time.Second); loops() != 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the goroutine is left after the last viewer")
		}
	}
}

// loops returns how many goroutines make events.
func loops() int {
	buffer := make([]byte, 1<<20)
	return strings.Count(string(buffer[:runtime.Stack(buffer, true)]), "live.(*Stream).serve(")
}

// watch opens the stream.
func watch(t *testing.T, url string) (lines *bufio.Scanner, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type = %q, want text/event-stream", got)
	}
	return bufio.NewScanner(resp.Body), func() {
		cancel()
		_ = resp.Body.Close()
	}
}

// nextOf returns the data of the next event with a name.
func nextOf(t *testing.T, lines *bufio.Scanner, name string) string {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == "event: "+name && lines.Scan() {
			return strings.TrimPrefix(lines.Text(), "data: ")
		}
	}
	t.Fatalf("the stream has ended before %s: %v", name, lines.Err())
	return ""
}
