package topkeys

import (
	"reflect"
	"slices"
	"testing"
)

func key(name string, perSecond, err float64) Key {
	return Key{ID: ID{Rule: 7, Key: name}, Limit: 9, PerSecond: perSecond, Error: err}
}

// A node that does not list a key may have served it, at most at the rate of its Unlisted.
func TestMerge(t *testing.T) {
	merged := Merge(
		Top{Keys: []Key{key("both", 10, 1), key("one", 8, 0)}, Unlisted: 2},
		Top{Keys: []Key{key("both", 5, 0)}, Unlisted: 3},
		Top{},
	)
	want := Top{Keys: []Key{key("both", 15, 1), key("one", 8, 3)}, Unlisted: 5}
	if !reflect.DeepEqual(merged, want) {
		t.Errorf("merged = %+v, want %+v", merged, want)
	}
}

func TestHottest(t *testing.T) {
	v := View{Top{Keys: []Key{key("a", 6, 0), key("b", 5, 0)}}, Top{Keys: []Key{key("b", 4, 0)}}}
	if hottest := v.Hottest(); hottest != 9 {
		t.Errorf("hottest = %v, want 9", hottest)
	}
	if hottest := new(View).Hottest(); hottest != 0 {
		t.Errorf("hottest of no key = %v, want 0", hottest)
	}
}

func TestEncoding(t *testing.T) {
	v := View{
		Top{Keys: []Key{key("a\xff", 10, 1), key("", 0.5, 0)}, Unlisted: 2},
		Top{Keys: []Key{key("b", 1, 0.25)}},
	}
	encoded := v.Append(nil)
	if decoded, err := Decode(encoded); err != nil || !reflect.DeepEqual(decoded, v) {
		t.Errorf("decoded = %+v, %v, want %+v", decoded, err, v)
	}
	for n := range encoded {
		if _, err := Decode(encoded[:n]); err == nil {
			t.Errorf("the first %d bytes were decoded", n)
		}
	}
}

// FuzzDecode decodes any bytes, as a node does not trust what it reads in Redis.
func FuzzDecode(f *testing.F) {
	v := View{Top{Keys: []Key{key("a", 10, 1)}, Unlisted: 2}, Top{}}
	f.Add(v.Append(nil))
	f.Add([]byte{encoding, 0x7f, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0}) // NaN
	f.Fuzz(func(t *testing.T, encoded []byte) {
		v, err := Decode(encoded)
		if err == nil && !slices.Equal(v.Append(nil), encoded) {
			t.Errorf("%x was decoded to %+v, whose encoding is another one", encoded, v)
		}
	})
}
