package redisconn

import (
	"reflect"
	"testing"
	"time"
)

// TestPendingCopiesArguments has the caller reuse its arguments before the call is written.
func TestPendingCopiesArguments(t *testing.T) {
	a, b := []byte("first"), []byte("second")
	call := Call{Script: count, Keys: []string{"key"}, Args: []any{a, 7, b, "text"}}
	var p pending
	if err := p.init(&call); err != nil {
		t.Fatal(err)
	}
	copy(a, "XXXXX")
	copy(b, "XXXXXX")
	call.Keys[0], call.Args[1] = "other", 8
	want := []any{"evalsha", count.digest, 1, "key", "first", 7, "second", "text"}
	if !reflect.DeepEqual(p.args, want) {
		t.Errorf("args = %q, want %q", p.args, want)
	}
}

func TestWrongArgumentTypes(t *testing.T) {
	for _, arg := range []any{1.5, true, nil, struct{}{}, time.Second, []string{"a"}, new(string)} {
		if err := new(pending).init(&Call{Script: count, Keys: []string{"k"}, Args: []any{"fine", arg}}); err == nil {
			t.Errorf("a %T was accepted", arg)
		}
	}
}
