package strictjson

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// A checker checks that values fit the types in which they will be stored.
type checker struct {
	remedy func(field string, known []string) string // may be nil; see [UnmarshalWith]
	parts  bool                                      // also check values whose types decode themselves
}

// store stores value in the struct that v points to. data is the JSON of value. A type that decodes
// itself does so once, and a second time only if store must find the place of a mistake.
func (c *checker) store(value any, data []byte, v any) error {
	t := reflect.TypeOf(v).Elem()
	if err := c.check("", value, t); err != nil {
		return err
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	c.parts = true
	if err := c.check("", value, t); err != nil {
		return err
	}
	return errorAt("", "%w: use valid JSON", err)
}

var (
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// check returns an error unless value fits in the type t.
func (c *checker) check(path string, value any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		if value == nil {
			return nil
		}
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return checkText(path, value, t)
	}
	if reflect.PointerTo(t).Implements(jsonUnmarshaler) {
		if !c.parts {
			return nil
		}
		return checkJSON(path, value, t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.checkStruct(path, value, t)
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok && value != nil {
			return wrongType(path, value, "an object")
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if err := c.check(Child(path, name), object[name], t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok && value != nil {
			return wrongType(path, value, "an array")
		}
		for i, element := range list {
			if err := c.check(Index(path, i), element, t.Elem()); err != nil {
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

// checkText checks a value of a type that decodes a text itself, such as an instant.
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

// checkJSON checks a value of a type that decodes its JSON itself.
func checkJSON(path string, value any, t reflect.Type) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = reflect.New(t).Interface().(json.Unmarshaler).UnmarshalJSON(data)
	}
	if inner := (*Error)(nil); errors.As(err, &inner) {
		return &Error{Path: join(path, inner.Path), Err: inner.Err}
	}
	switch {
	case err == nil:
		return nil
	case strings.HasPrefix(err.Error(), "time: "):
		return errorAt(path, `%w: use a number with its unit, such as "50ms" or "1m"`, err)
	case t.Kind() == reflect.Int64: // a duration, whose error may have Go's words about numbers
		return checkDuration(path, value)
	}
	return &Error{Path: path, Err: err}
}

// checkDuration returns the error about a value that is not a duration.
func checkDuration(path string, value any) error {
	const use = `a number with its unit, such as "50ms" or "1m"`
	switch value := value.(type) {
	case string:
		return errorAt(path, "%.40q is not a duration: use %s", value, use)
	case json.Number:
		return errorAt(path, "%.40s is not a number of nanoseconds: use %s", value, use)
	}
	return wrongType(path, value, use)
}

func (c *checker) checkStruct(path string, value any, t reflect.Type) error {
	object, ok := value.(map[string]any)
	if !ok {
		return wrongType(path, value, "an object")
	}
	members := membersOf(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		t, found := members[name]
		if !found {
			return errorAt(path, "unknown field %q: %s", name, c.instead(name, slices.Sorted(maps.Keys(members))))
		}
		if err := c.check(Child(path, name), object[name], t); err != nil {
			return err
		}
	}
	return nil
}

// membersOf returns the types of the members of a struct type, by their names in JSON.
func membersOf(t reflect.Type) map[string]reflect.Type {
	if known, found := membersByType.Load(t); found {
		return known.(map[string]reflect.Type)
	}
	members := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			members[name] = f.Type
		}
	}
	membersByType.Store(t, members)
	return members
}

// membersByType has the results of membersOf, by struct type.
var membersByType sync.Map

// instead returns what to do about an unknown field.
func (c *checker) instead(name string, known []string) string {
	if c.remedy != nil {
		if remedy := c.remedy(name, known); remedy != "" {
			return remedy
		}
	}
	if nearest := spelling.Nearest(name, known); nearest != "" {
		return fmt.Sprintf("use %q", nearest)
	}
	return "use one of " + strings.Join(known, ", ")
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
