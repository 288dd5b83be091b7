package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzDecode compares Decode, which decodes data as a whole if it can, with decodeValue.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `null`, ` "a:{,\\\""`, `{"a": [1, 2.50, {"b:,": "}"}], "\u0061": 1}`,
		`{"a": {"x": 1, "x": 2}}`, `{"é": 1, "\u00e9": 2}`, "{\"\xff\": 1, \"\xfe\": 2}",
		nested(maxDepth, ""), nested(maxDepth, "1"), nested(maxDepth+1, ""), nested(maxDepth+1, "1"), `{"a":` + nested(maxDepth, "1") + "}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		got, err := Decode(data)
		want, wantErr := decodeValue(newDecoder(data), "", 0)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("Decode(%q) = %v, %v; value by value it is %v, %v", data, got, err, want, wantErr)
		}
	})
}

// nested returns the text of arrays in each other, with value in the innermost one.
func nested(arrays int, value string) string {
	return strings.Repeat("[", arrays) + value + strings.Repeat("]", arrays)
}
