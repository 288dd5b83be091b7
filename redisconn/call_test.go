package redisconn

import (
	"reflect"
	"testing"
	"time"
)

// TestPendingSharesNoMemory has the caller use its arguments for something else while the call is still to be written.
func TestPendingSharesNoMemory(t *testing.T) {
	a, b := []byte("first"), []byte("second")
	call := Call{Script: count, Keys: []string{"key"}, Args: []any{a, 7, b, "text"}}
	var p pending
	if err := p.init(&call); err != nil {
		t.Fatal(err)
	}
	p.own()
	copy(a, "XXXXX")
	copy(b, "XXXXXX")
	call.Keys[0], call.Args[1] = "other", 8
	want := []any{"evalsha", count.Hash(), 1, "key", []byte("first"), 7, []byte("second"), "text"}
	if !reflect.DeepEqual(p.args, want) {
		t.Errorf("args = %q, want %q", p.args, want)
	}
}

func TestArgumentsOfTheWrongType(t *testing.T) {
	for _, arg := range []any{1.5, true, nil, struct{}{}, time.Second, Placeholder(0), []string{"a"}, new(string)} {
		if _, err := command(&Call{Script: count, Keys: []string{"k"}, Args: []any{"fine", arg}}, nil); err == nil {
			t.Errorf("a %T was accepted", arg)
		}
	}
}
