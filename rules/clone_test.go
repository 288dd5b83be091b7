package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCloneSharesNothing fills every field of a document, changes every field of its copy, and
// looks whether the original has changed.
func TestCloneSharesNothing(t *testing.T) {
	filled := func(seed int) *Document {
		d := new(Document)
		fill(reflect.ValueOf(d).Elem(), &seed)
		return d
	}
	original := filled(0)
	clone := original.Clone()
	if !reflect.DeepEqual(clone, original) {
		t.Fatalf("Clone = %+v, want %+v", clone, original)
	}
	seed := 1000
	fill(reflect.ValueOf(clone).Elem(), &seed)
	if !reflect.DeepEqual(original, filled(0)) {
		t.Errorf("changing a copy has changed the original: %+v", original)
	}
	if got := (*Document)(nil).Clone(); !reflect.DeepEqual(got, new(Document)) {
		t.Errorf("the copy of nil = %+v, want an empty document", got)
	}
}

// fill sets v and all that it points to. It keeps pointers, maps and slices that are there.
func fill(v reflect.Value, seed *int) {
	*seed++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(int64(*seed), 0)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), seed)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), seed)
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(v.Index(i), seed)
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range 2 {
				v.SetMapIndex(reflect.ValueOf(fmt.Sprint(i)), reflect.New(v.Type().Elem()).Elem())
			}
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			fill(value, seed)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(fmt.Sprint(*seed))
	case reflect.Float64:
		v.SetFloat(float64(*seed))
	case reflect.Int64:
		v.SetInt(int64(*seed))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		panic(fmt.Sprint("no value for ", v.Type()))
	}
}
