package adminapi

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const mediaJSONLines = "application/x-ndjson"

// linePatience is how long an answer waits for a reader that takes nothing. It is less than Caddy
// waits for its requests when it stops an admin endpoint.
const linePatience = 5 * time.Second

// A lineWriter writes lines of JSON until the reader has left, or takes nothing for linePatience.
type lineWriter struct {
	controller *http.ResponseController
	encoder    *json.Encoder
	err        error // the first one
}

func newLineWriter(w http.ResponseWriter) *lineWriter {
	l := &lineWriter{controller: http.NewResponseController(w), encoder: json.NewEncoder(w)}
	startResponse(w, http.StatusOK, mediaJSONLines)
	l.flush()
	return l
}

func (l *lineWriter) write(line any) {
	if l.err == nil {
		l.wait()
		l.err = l.encoder.Encode(line)
	}
}

func (l *lineWriter) flush() {
	if l.err == nil {
		l.wait()
		l.err = l.controller.Flush()
	}
}

// wait bounds the next wait for the reader. Responses of tests have no deadlines, so it ignores the
// error.
func (l *lineWriter) wait() { _ = l.controller.SetWriteDeadline(time.Now().Add(linePatience)) }

// shutdowns has a channel for each admin server that serves or has served lines. It is closed when
// the server shuts down, as at each reload.
var shutdowns struct {
	sync.Mutex
	of map[*http.Server]chan struct{}
}

// ShutdownOf returns a channel that is closed when the server of r begins to shut down, because the
// server then waits for its requests. It returns nil over HTTP/3. Call it before the first line is
// written, because that write may wait for the reader.
func ShutdownOf(r *http.Request) <-chan struct{} {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil {
		return nil
	}
	shutdowns.Lock()
	defer shutdowns.Unlock()
	if done := shutdowns.of[server]; done != nil {
		return done
	}
	done := make(chan struct{})
	if shutdowns.of == nil {
		shutdowns.of = make(map[*http.Server]chan struct{})
	}
	shutdowns.of[server] = done
	server.RegisterOnShutdown(func() { // once for each call of Shutdown
		shutdowns.Lock()
		defer shutdowns.Unlock()
		if shutdowns.of[server] == done {
			close(done)
			delete(shutdowns.of, server)
		}
	})
	return done
}
