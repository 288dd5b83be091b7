package tokenusage

import (
	"fmt"
	"strings"
	"testing"
)

// bodies are responses of each form, with what they have used.
var bodies = []struct {
	name, contentType, body string
	tokens, events          int64
}{
	{"chat", "application/json", `{"id":"c","choices":[{"message":{"content":"say \"usage\": {\"total_tokens\": 1}"}}],
		"usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29, "prompt_tokens_details": {"cached_tokens": 4}}}`, 29, 0},
	{"chat stream", "text/event-stream; charset=utf-8", `data: {"choices":[{"delta":{"content":"a"}}],"usage":null}

data: {"choices":[{"delta":{"content":"\n\ndata: {\"usage\":{\"total_tokens\":7}}"}}],"usage":null}

data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":22,"total_tokens":30}}

data: [DONE]

`, 30, 3},
	{"responses", "application/json", `{"object":"response","output":[],"usage":{"input_tokens":36,
		"input_tokens_details":{"cached_tokens":0},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":123},
		"user":null,"metadata":{"usage":"{}"}}`, 123, 0},
	{"responses stream", "text/event-stream", `event: response.created
data: {"type":"response.created","response":{"usage":null}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"Hi"}

event: response.completed
data: {"type":"response.completed","response":{"output":[],"usage":{"input_tokens":37,"output_tokens":11,"total_tokens":48},"metadata":{}}}

`, 48, 3},
	{"messages", "application/json", `{"type":"message","content":[{"type":"tool_use","input":{"usage":{"input_tokens":1}}}],
		"usage":{"input_tokens":2095,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":503}}`, 2703, 0},
	{"messages stream", "text/event-stream", `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":25,"cache_read_input_tokens":10,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"usage"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

`, 50, 5},
	{"usage in each chunk", "text/event-stream", "data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\n" +
		"data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n", 7, 2},
	{"an object over lines", "text/event-stream", "data: {\"usage\"\ndata:  : \ndata: {\"total_tokens\":\ndata: 9}}\n\n", 9, 1},
	{"no empty line at the end", "text/event-stream", ": comment\nid: 1\ndata: {\"usage\":{\"total_tokens\":9}}", 9, 1},
	{"usage before the content", "application/json", `{"usage":{"total_tokens":7},"choices":["` + strings.Repeat(`x\\\"`, 20_000) + `"]}`, 7, 0},
	{"much behind usage", "application/json", `{"usage":{"total_tokens":7},"prompt_logprobs":[` + strings.Repeat(`{"1":{"rank":2}},`, 5000) +
		`0],"metadata":{"usage":"{}"}}`, 7, 0},
	{"exponents and fractions", "application/json", `{"usage":{"prompt_tokens":1e3,"completion_tokens":2000.0,"cache_read_input_tokens":0.5}}`, 3001, 0},
	{"a number of the end", "application/json", `{"usage":{"total_tokens":1e400}}`, 1<<63 - 1, 0},
	{"again", "application/json", `{"usage":{"total_tokens":9,"total_tokens":8},"usage":{"total_tokens":7},"usage":null}`, 7, 0},
	{"a bomb", "application/json", `{"a":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `,"usage":{"total_tokens":7}}`, 7, 0},
	{"another usage in details", "application/json", `{"usage":{"a":{"total_tokens":1},"b":[2],"total_tokens":7,"c":{"usage":{"total_tokens":3}}}}`, 7, 0},
	{"a stream with much behind usage", "text/event-stream", "data: {\"usage\":{\"total_tokens\":7},\"x\":\"" + strings.Repeat("x", 100_000) +
		"\"}\n\ndata: [DONE]\n\n", 7, 1},
	{"usage of Groq", "text/event-stream", "data: {\"x_groq\":{\"usage\":{\"total_tokens\":7}}}\n\n", 7, 1},
	{"a long document", "application/json", `{"choices":["` + strings.Repeat("x", 100_000) + `"],"usage":{"total_tokens":7}}`, 7, 0},
	{"a long event", "text/event-stream", `data: {"response":{"output":"` + strings.Repeat("x", 100_000) +
		"\",\"usage\":{\"total_tokens\":7}}}\n\n", 7, 1},
	{"a long chat stream", "text/event-stream", strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n", 1000) +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":1000,\"total_tokens\":1008}}\n\ndata: [DONE]\n\n", 1008, 1001},
	{"a long messages stream", "text/event-stream", "event: message_start\n" +
		"data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n" +
		strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}\n\n", 1000) +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n", 40, 1002},
}

func read(contentType string, parts ...string) *Reader {
	r := NewReader(contentType)
	for _, p := range parts {
		r.Read([]byte(p))
	}
	return r
}

// check reads parts, and wants this usage.
func check(t *testing.T, contentType string, tokens, events int64, parts ...string) {
	t.Helper()
	r := read(contentType, parts...)
	if n, known := r.Tokens(); n != tokens || !known || r.Events() != events {
		t.Errorf("%d tokens, known %v, in %d events, want %d in %d", n, known, r.Events(), tokens, events)
	}
}

// TestSplitAnywhere reads each body split at every offset, and byte by byte, with each end of lines
// and with and without spaces.
func TestSplitAnywhere(t *testing.T) {
	for _, b := range bodies {
		variants := []string{b.body}
		if NewReader(b.contentType).IsStream() {
			for _, end := range []string{"\r\n", "\r"} {
				variants = append(variants, strings.ReplaceAll(b.body, "\n", end))
			}
			variants = append(variants, strings.ReplaceAll(b.body, "data: ", "data:"))
		}
		for i, body := range variants {
			t.Run(fmt.Sprint(b.name, " ", i), func(t *testing.T) {
				step := max(1, len(body)/300)
				for at := 0; at <= len(body); at += step {
					check(t, b.contentType, b.tokens, b.events, body[:at], body[at:])
				}
				check(t, b.contentType, b.tokens, b.events, strings.Split(body, "")...)
			})
		}
	}
}

// TestUnknown reads bodies that do not say what the whole response has used.
func TestUnknown(t *testing.T) {
	for _, tc := range []struct {
		name, contentType, body string
		tokens                  int64
	}{
		{"empty", "application/json", "", 0},
		{"a text", "text/plain", `{"usage":{"total_tokens":7}}`, 0},
		{"a page", "text/html; charset=utf-8", `{"usage":{"total_tokens":7}}`, 0},
		{"no usage", "application/json", `{"choices":[]}`, 0},
		{"null", "application/json", `{"usage":null}`, 0},
		{"a number", "application/json", `{"usage":7}`, 0},
		{"a value", "application/json", `{"type":"usage"}`, 0},
		{"cut off", "application/json", `{"usage":{"total_tokens":7`, 0},
		{"no tokens", "application/json", `{"usage":{"seconds":7}}`, 0},
		{"negative", "application/json", `{"usage":{"total_tokens":-7}}`, 0},
		{"no number", "application/json", `{"usage":{"total_tokens":NaN}}`, 0},
		{"a long number", "application/json", `{"usage":{"total_tokens":1` + strings.Repeat("0", 40) + `}}`, 0},
		{"a text", "application/json", `{"usage":{"total_tokens":"7"}}`, 0},
		{"in a text", "application/json", `{"content":"{\"usage\":{\"total_tokens\":7}}"}`, 0},
		{"in a comment", "text/event-stream", ": {\"usage\":{\"total_tokens\":7}}\n\n", 0},
		{"in another field", "text/event-stream", "datas: {\"usage\":{\"total_tokens\":7}}\n\n", 0},
		{"before the end", "text/event-stream", bodies[5].body[:150] + "\n\n", 36},
		{"in metadata", "application/json", `{"metadata":{"usage":{"total_tokens":7}}}`, 0},
		{"in an array", "application/json", `{"prompt_logprobs":[{"usage":{"total_tokens":7}}]}`, 0},
		{"in an array of usage", "application/json", `{"usage":[{"total_tokens":7}]}`, 0},
		{"in an array of documents", "application/json", `[{"usage":{"total_tokens":7}}]`, 0},
		{"in details", "application/json", `{"usage":{"details":{"total_tokens":7}}}`, 0},
		{"in a message of a document", "application/json", `{"message":{"usage":{"total_tokens":7}}}`, 0},
		{"in the delta of a stream", "text/event-stream", "data: {\"delta\":{\"usage\":{\"total_tokens\":7}}}\n\n", 0},
		{"in the output of a stream", "text/event-stream", "data: {\"response\":{\"output\":{\"usage\":{\"total_tokens\":7}}}}\n\n", 0},
		{"a key with an escaped quote", "application/json", `{"\"usage":{"total_tokens":7}}`, 0},
		{"a longer key", "application/json", `{"` + strings.Repeat("x", 100) + `usage":{"total_tokens":7}}`, 0},
		{"deeper than any memory", "application/json", strings.Repeat(`{"a":[`, 1<<20) + `{"usage":{"total_tokens":7}}`, 0},
		{"an event that was cut off", "text/event-stream", "data: {\"a\":\"\n\ndata: \"usage\":{\"total_tokens\":7}}\n\n", 0},
	} {
		if n, known := read(tc.contentType, tc.body).Tokens(); n != tc.tokens || known {
			t.Errorf("%s: %d tokens, known %v, want %d, unknown", tc.name, n, known, tc.tokens)
		}
	}
}

// TestSums adds input and output tokens without overflow, if the last usage object has no total.
func TestSums(t *testing.T) {
	check(t, "", 1<<63-1, 0, `{"usage":{"input_tokens":9223372036854775807,"output_tokens":9223372036854775807}}`)
	check(t, "", 3, 0, `{"usage":{"total_tokens":9},"usage":{"input_tokens":1,"output_tokens":2}}`)
}

// TestEnded wants the end of each form, and not a byte before.
func TestEnded(t *testing.T) {
	for _, tc := range []struct{ contentType, before, end string }{
		{"application/json; charset=utf-8", `{"a":{"b":"}"}`, "}"},
		{"Application/Vnd.Model+JSON ; a=b", `{"a":{}`, "}"},
		{"text/event-stream", "data: {\"choices\":[\"[DONE]\"]}\n\ndata: [DONE", "]"},
		{"text/event-stream", "data:[DONE", "]\r\n\r\n"},
		{"text/event-stream", "data: {\"content\":\"message_stop\"}\n\ndata: {\"type\":\"message_stop\"", "}"},
		{"text/event-stream", "event: message_stop\ndata: {", "}\n"},
		{"text/event-stream", "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{}}", "}"},
		{"text/event-stream", "data: {\"response\":{\"type\":\"response.failed\"},\"type\":\"response.incomplete\"", "}"},
	} {
		if read(tc.contentType, tc.before).Ended() {
			t.Errorf("%q has ended", tc.before)
		}
		if !read(tc.contentType, tc.before, tc.end).Ended() {
			t.Errorf("%q has not ended", tc.before+tc.end)
		}
	}
	for _, body := range []string{"data: {\"choices\":[]}\n\n", "data: [DONE, no]\n\n", ": [DONE]\n\n", "event: message_stop\n\ndata: {}\n\n"} {
		if read("text/event-stream", body).Ended() {
			t.Errorf("%q has ended", body)
		}
	}
	if read("application/x-ndjson", "{}\n").Ended() {
		t.Error("the first of several documents is the end")
	}
}

// TestContent counts what a model may have written in events, and not what stands around it.
func TestContent(t *testing.T) {
	for event, want := range map[string]int64{
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"12345678"}}]}`:    8,
		`{"choices":[{"delta":{"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}`: 9,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1234"}}`:                         4,
		`{"type":"response.output_text.delta","item_id":"msg_1","delta":"1234","obfuscation":"abcdefghijkl"}`:                        4,
		`{"type":"response.created","response":{"instructions":"be kind","metadata":{"a":"b"}}}`:                                     0,
		`{"input":{"id":"` + strings.Repeat("x", 1000) + `"}}`:                                                                       1000 - shortest,
		`["12","34"]`: 4,
	} {
		if got := read("text/event-stream", "data: "+event+"\n\n").Content(); got != want {
			t.Errorf("%d bytes of content in %s, want %d", got, event, want)
		}
	}
}
