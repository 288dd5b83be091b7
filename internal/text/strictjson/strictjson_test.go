package strictjson

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

type embedded struct {
	Name string `json:"name"`
}

type document struct {
	embedded
	Count   int64                `json:"count"`
	Factor  float64              `json:"factor"`
	On      bool                 `json:"on"`
	At      *time.Time           `json:"at"`
	Parts   []*document          `json:"parts"`
	ByName  map[string]*document `json:"by_name"`
	Texts   map[string]string    `json:"texts"`
	Private int                  `json:"-"`
}

func TestUnmarshal(t *testing.T) {
	const text = `{"name": "a", "count": 9007199254740993, "factor": 1.5e3, "on": true, "at": "2026-01-31T12:00:00Z",
		"parts": [{"name": "b"}, null], "by_name": {"x.y": {"count": -1}}, "texts": {"Z": "z", "z": "y"}}`
	var got, want document
	if err := Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                  "it is empty: use a JSON value",
		` `:                 "it is empty: use a JSON value",
		`{`:                 "unexpected end of JSON input at byte 1: use valid JSON",
		`{} {}`:             "invalid character '{' after top-level value at byte 4: use valid JSON",
		`{"name": a}`:       "invalid character 'a' looking for beginning of value at byte 10: use valid JSON",
		`[]`:                "it is an array: use an object",
		`"x"`:               "it is a string: use an object",
		`null`:              "it is null: use an object",
		`{"nam": "a"}`:      `unknown field "nam": use "name"`,
		`{"Name": "a"}`:     `unknown field "Name": use "name"`,
		`{"private": 1}`:    `unknown field "private": use one of at, by_name, count, factor, name, on, parts, texts`,
		`{"on": 1, "on":1}`: "on: it occurs twice: use it once",
		`{"name": 1}`:       "name: it is a number: use a string",
		`{"name": null}`:    "name: it is null: use a string",
		`{"count": "1"}`:    "count: it is a string: use an integer",
		`{"count": 1.5}`:    "count: 1.5 is not an integer, or it is too large: use an integer",
		`{"count": 1e99}`:   "count: 1e99 is not an integer, or it is too large: use an integer",
		`{"factor": 1e999}`: "factor: 1e999 is not a number, or it is too large: use a number",
		`{"on": {}}`:        "on: it is an object: use true or false",
		`{"at": 5}`:         "at: it is a number: use a string",
		`{"at": "later"}`:   `at: "later" is not valid: use an instant such as 2026-01-31T12:00:00Z`,
		`{"parts": {}}`:     "parts: it is an object: use an array",
		`{"by_name": true}`: "by_name: it is a boolean: use an object",

		`{"parts": [{}, {"by_name": {"x.y": {"texts": {"z": []}}}}]}`: `parts[1].by_name["x.y"].texts.z: it is an array: use a string`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100):           strings.Repeat("[0]", 33) + ": it is nested too deep: use at most 32 levels",
	} {
		if err := Unmarshal([]byte(text), new(document)); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"name": "a", "count": 1, "parts": [{}], "at": "2026-01-31T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want document
		if Unmarshal(data, &got) != nil {
			return
		}
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %+v, want %+v, %v", data, got, want, err)
		}
	})
}

// Decode counts elements and members while it reads them.
func TestMemoryOfManyElements(t *testing.T) {
	for _, tc := range []struct{ open, element, end, want string }{
		{"[", "{}", "]", "there are more than 200000 entries: use at most 200000"},
		{"{", `"%d":0`, "}", "there are more than 200000 members: use fewer"},
	} {
		elements := make([]string, MaxElements+1)
		for i := range elements {
			elements[i] = strings.Replace(tc.element, "%d", strconv.Itoa(i), 1)
		}
		if _, err := Decode([]byte(tc.open + strings.Join(elements[1:], ",") + tc.end)); err != nil {
			t.Errorf("%d of %s: %v, want no error", MaxElements, tc.element, err)
		}
		if _, err := Decode([]byte(tc.open + strings.Join(elements, ",") + tc.end)); err == nil || err.Error() != tc.want {
			t.Errorf("%d of %s: %v, want %s", MaxElements+1, tc.element, err, tc.want)
		}
	}
}
