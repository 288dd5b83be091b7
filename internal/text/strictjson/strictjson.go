// Package strictjson decodes JSON that people write. Unlike encoding/json, it refuses names that occur
// twice in an object, and names in the wrong case. Its errors say where a mistake is, and what to use
// instead.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxDepth is the highest depth at which a value may be nested.
	maxDepth = 32

	// MaxElements is the highest number of elements in an array, and of members in an object. They are
	// counted while they are read, because `[{},{},...]` of a megabyte would take gigabytes of memory.
	MaxElements = 200_000
)

// An Error is a mistake in a JSON text.
type Error struct {
	Path string // such as overrides[3].limit; "" for the whole text
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns the error without its path.
func (e *Error) Unwrap() error { return e.Err }

func errorAt(path, format string, args ...any) error {
	return &Error{Path: path, Err: fmt.Errorf(format, args...)}
}

// Decode returns the JSON value in data as maps, slices, strings, [json.Number], booleans and nil.
func Decode(data []byte) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errorAt("", "it is empty: use a JSON value")
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		return nil, errorAt("", "%w at byte %d: use valid JSON", err, syntax.Offset)
	}
	if members, ok := outline(data); ok {
		var value any
		if err := newDecoder(data).Decode(&value); err == nil && membersIn(value) == members {
			return value, nil
		}
	}
	return decodeValue(newDecoder(data), "", 0) // finds the place of the mistake
}

func newDecoder(data []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d
}

// decodeValue decodes the value at path. The syntax of the value must be valid.
func decodeValue(d *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errorAt(path, "it is nested too deep: use at most %d levels", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, errorAt(path, "%w: use valid JSON", err)
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return nil, errorAt(path, "%w: use valid JSON", err)
			}
			name := token.(string)
			at := Child(path, name)
			if len(object) == MaxElements {
				return nil, errorAt(path, "there are more than %d members: use fewer", MaxElements)
			}
			if _, found := object[name]; found {
				return nil, errorAt(at, "it occurs twice: use it once")
			}
			if object[name], err = decodeValue(d, at, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			if len(list) == MaxElements {
				return nil, errorAt(path, "there are more than %d entries: use at most %[1]d", MaxElements)
			}
			v, err := decodeValue(d, Index(path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// Convert stores value in the struct that v points to. value has the types that [Decode] returns.
func Convert(value, v any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return errorAt("", "%w: use valid JSON", err)
	}
	return (&checker{}).store(value, data, v)
}

// Unmarshal decodes data into the struct that v points to.
func Unmarshal(data []byte, v any) error { return UnmarshalWith(nil, data, v) }

// UnmarshalWith is Unmarshal with remedies for unknown fields. remedy returns a text about what to do
// instead of a field. If it returns "", the error names the nearest of the known fields.
func UnmarshalWith(remedy func(field string, known []string) string, data []byte, v any) error {
	value, err := Decode(data)
	if err != nil {
		return err
	}
	return (&checker{remedy: remedy}).store(value, data, v)
}

// Child returns the path of the member called name in the object at path.
func Child(path, name string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	if name == "" || strings.Trim(name, plain) != "" {
		return fmt.Sprintf("%s[%q]", path, name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of element i in the array at path.
func Index(path string, i int) string {
	return fmt.Sprintf("%s[%d]", path, i)
}

// join returns the path of the value at inner within the value at path.
func join(path, inner string) string {
	if path == "" || inner == "" || inner[0] == '[' {
		return path + inner
	}
	return path + "." + inner
}
