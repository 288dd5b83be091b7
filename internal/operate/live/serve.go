package live

import (
	"net/http"
	"time"
)

// patience is how long a response waits for a viewer that reads nothing. It is less than Caddy
// waits for its requests when it stops an admin endpoint.
const patience = 5 * time.Second

// maxLife is how long a response lasts over HTTP/3. A server of HTTP/3 does not say when it shuts
// down, but waits for its requests. The viewer then reconnects.
const maxLife = 15 * time.Second

// Serve answers a request with the events from now on, as Server-Sent Events. It returns when the
// client has left, or when ended is closed. A query parameter zone chooses the zone whose keys the
// viewer wants. changes says whether the viewer may change something.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request, changes bool, ended <-chan struct{}) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // for proxies in front
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	v, leave := s.join(r.URL.Query().Get("zone"))
	defer leave()
	v.hello.Changes = changes
	var over <-chan time.Time
	if r.ProtoMajor == 3 {
		timer := time.NewTimer(maxLife)
		defer timer.Stop()
		over = timer.C
	}
	c := http.NewResponseController(w)
	for next := newEvent("hello", v.hello); ; {
		_ = c.SetWriteDeadline(time.Now().Add(patience)) // only responses of tests have none
		if _, err := w.Write(next.text); err != nil {
			return
		}
		if err := c.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ended:
			return
		case <-over:
			return
		case next = <-v.events:
		}
	}
}
