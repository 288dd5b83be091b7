package tokenusage

import "bytes"

// A name is the name of a member of JSON, if that matters.
type name uint8

const (
	noName    name = iota
	otherName      // any name that does not matter
	usageName
	messageName
	responseName
	groqName
	typeName
	envelopeName // a member that providers send in each event, and models do not write

	// The members of usage objects.
	allTokens
	inTokens
	outTokens
	readTokens
	writeTokens
)

// nameOf returns the name with this text.
func nameOf(text []byte) name {
	switch string(text) {
	case "usage":
		return usageName
	case "message":
		return messageName
	case "response":
		return responseName
	case "x_groq":
		return groqName
	case "type":
		return typeName
	case "total_tokens":
		return allTokens
	case "prompt_tokens", "input_tokens":
		return inTokens
	case "completion_tokens", "output_tokens":
		return outTokens
	case "cache_read_input_tokens":
		return readTokens
	case "cache_creation_input_tokens":
		return writeTokens
	case "id", "object", "model", "role", "name", "status", "provider", "obfuscation", "service_tier",
		"system_fingerprint", "finish_reason", "native_finish_reason", "stop_reason":
		return envelopeName
	}
	if bytes.HasSuffix(text, []byte("_id")) {
		return envelopeName
	}
	return otherName
}

// isLast reports whether an event with this name or type is the last one of a response.
func isLast(event []byte) bool {
	switch string(event) {
	case "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}
