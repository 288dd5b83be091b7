//go:build linux

package main

import (
	"net/http"
	"strings"
)

// A stream is a body of server-sent events that the upstream sends at a path.
type stream struct {
	name, path string
	body       []byte
	write      int // bytes per write
}

// streams are the upstream, which sends one of them at each path.
type streams []*stream

const (
	chatEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",` +
		`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null}` + "\n\n"
	chatEnd = `data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":48,"total_tokens":58}}` +
		"\n\ndata: [DONE]\n\n"
	messagesStart = "event: message_start\n" +
		`data: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10,"output_tokens":1}}}` + "\n\n"
	messagesEvent = "event: content_block_delta\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}` + "\n\n"
	messagesEnd = "event: message_delta\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":48}}` + "\n\n" +
		"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
)

// newStreams returns streams of about this size: of two providers in large writes, and one that writes
// each event by itself.
func newStreams(size int) streams {
	chat := []byte(strings.Repeat(chatEvent, size/len(chatEvent)) + chatEnd)
	messages := []byte(messagesStart + strings.Repeat(messagesEvent, size/len(messagesEvent)) + messagesEnd)
	return streams{
		{"chat completions, writes of 16 kB", "chat", chat, 16 << 10},
		{"messages, writes of 16 kB", "messages", messages, 16 << 10},
		{"chat completions, an event a write", "events", chat, len(chatEvent)},
	}
}

// ServeHTTP sends the stream that is named at the end of the path.
func (all streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, s := range all {
		if !strings.HasSuffix(r.URL.Path, "/"+s.path) {
			continue
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := s.body; len(rest) > 0; {
			n := min(s.write, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
		return
	}
	http.NotFound(w, r)
}
