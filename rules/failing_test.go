package rules

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Until rules were read once, from the store or its copy, the first failure is reported, and later
// ones are not.
func TestUnreadRules(t *testing.T) {
	for name, tc := range map[string]struct {
		kept   Copy
		known  bool
		events []string
	}{
		"no copy":         {nil, false, []string{"unread", "recovered"}},
		"an empty copy":   {new(fakeStore), false, []string{"unread", "recovered"}},
		"a damaged copy":  {&fakeStore{err: errors.New("damaged")}, false, []string{"unread", "recovered"}},
		"a copy of rules": {&fakeStore{versions: numbered("a", 1, 2)}, true, []string{"failure", "recovered"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{err: errors.New("down")}
				var (
					mu       sync.Mutex
					reported []string
				)
				report := func(event string) {
					mu.Lock()
					defer mu.Unlock()
					reported = append(reported, event)
				}
				events := func() []string {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(reported)
				}
				w := watcher(t, store, Options{
					Copy:       tc.kept,
					OnFailure:  func(error) { report("failure") },
					OnUnread:   func(error) { report("unread") },
					OnRecovery: func() { report("recovered") },
				})
				if w.Known() {
					t.Error("rules are known before anything was read")
				}
				pass(time.Second)
				if w.Known() != tc.known || slices.Contains(events(), "unread") == tc.known {
					t.Errorf("after a second, known = %v and events = %q, want %v", w.Known(), events(), tc.known)
				}
				pass(10 * defaultPoll)
				store.set(func() { store.err = nil })
				pass(defaultPoll)
				if !w.Known() || !slices.Equal(events(), tc.events) {
					t.Errorf("in the end, known = %v and events = %q, want %q", w.Known(), events(), tc.events)
				}
			})
		})
	}
}
