// Package strictjson decodes JSON that people write. Unlike encoding/json it refuses names that
// occur twice or differ in case, and its errors say where a mistake is and what to use instead.
package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/spelling"
)

const (
	// maxDepth is how deep values may be nested.
	maxDepth = 32

	// MaxElements is how many elements an array may have, and how many members an object. They are
	// counted while they are read: `[{},{},...]` of a megabyte would take gigabytes of memory.
	MaxElements = 200_000
)

// An Error is a mistake in a JSON text.
type Error struct {
	Path string // such as overrides[3].limit, "" for the whole
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
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
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return decodeValue(d, "", 0)
}

// decodeValue decodes a value at path. Its syntax is valid.
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

// Convert stores value, which has the types that [Decode] returns, in the struct that v points to.
func Convert(value, v any) error {
	if err := check("", value, reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return errorAt("", "%w: use valid JSON", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return errorAt("", "%w: use valid JSON", err)
	}
	return nil
}

// Unmarshal is json.Unmarshal for JSON that people write.
func Unmarshal(data []byte, v any) error {
	value, err := Decode(data)
	if err != nil {
		return err
	}
	return Convert(value, v)
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// check returns an error unless value can be stored in a t.
func check(path string, value any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		if value == nil {
			return nil
		}
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return checkText(path, value, t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkStruct(path, value, t)
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok && value != nil {
			return wrongType(path, value, "an object")
		}
		for _, name := range sortedNames(object) {
			if err := check(Child(path, name), object[name], t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok && value != nil {
			return wrongType(path, value, "an array")
		}
		for i, element := range list {
			if err := check(Index(path, i), element, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.String:
		if _, ok := value.(string); !ok {
			return wrongType(path, value, "a string")
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return wrongType(path, value, "true or false")
		}
	default:
		return checkNumber(path, value, t)
	}
	return nil
}

func checkNumber(path string, value any, t reflect.Type) error {
	what := "an integer"
	if t.Kind() == reflect.Float64 {
		what = "a number"
	}
	number, ok := value.(json.Number)
	if !ok {
		return wrongType(path, value, what)
	}
	if json.Unmarshal([]byte(number), reflect.New(t).Interface()) != nil {
		return errorAt(path, "%s is not %s, or it is too large: use %s", number, what, what)
	}
	return nil
}

// checkText checks a value such as an instant.
func checkText(path string, value any, t reflect.Type) error {
	text, ok := value.(string)
	if !ok {
		return wrongType(path, value, "a string")
	}
	if err := reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return errorAt(path, "%q is not valid: use an instant such as 2026-01-31T12:00:00Z", text)
	}
	return nil
}

func checkStruct(path string, value any, t reflect.Type) error {
	object, ok := value.(map[string]any)
	if !ok {
		return wrongType(path, value, "an object")
	}
	members := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			members[name] = f.Type
		}
	}
	for _, name := range sortedNames(object) {
		t, found := members[name]
		if !found {
			use := ""
			if nearest := spelling.Nearest(name, sortedNames(members)); nearest != "" {
				use = fmt.Sprintf("%q", nearest)
			} else {
				use = "one of " + strings.Join(sortedNames(members), ", ")
			}
			return errorAt(Child(path, name), "there is no such member: use %s", use)
		}
		if err := check(Child(path, name), object[name], t); err != nil {
			return err
		}
	}
	return nil
}

func wrongType(path string, value any, want string) error {
	is := "null"
	switch value.(type) {
	case map[string]any:
		is = "an object"
	case []any:
		is = "an array"
	case string:
		is = "a string"
	case json.Number:
		is = "a number"
	case bool:
		is = "a boolean"
	}
	return errorAt(path, "it is %s: use %s", is, want)
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Child returns the path of a member of the object at path.
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

// Index returns the path of an element of the array at path.
func Index(path string, i int) string {
	return fmt.Sprintf("%s[%d]", path, i)
}
