package topkeys

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"
)

var start = time.Unix(1_700_000_020, 0) // a generation begins 20 s later

// checkKeys checks the keys and their rates.
func checkKeys(t *testing.T, top Top, want ...string) {
	t.Helper()
	var got []string
	for _, k := range top.Keys {
		got = append(got, fmt.Sprintf("%s %.1f", k.Key, k.PerSecond))
	}
	if !slices.Equal(got, want) {
		t.Errorf("keys = %q, want %q", got, want)
	}
}

func (l *List) addEach(every time.Duration, n int, from time.Time, key string, cost int64) {
	for i := range n {
		l.Add(from.Add(time.Duration(i)*every), &Take{Rule: 1, Limit: 1, Key: []byte(key), Cost: cost})
	}
}

// A quiet list counts each take by its cost. A rate is that sum, divided by the seconds that the
// list covers.
func TestListRates(t *testing.T) {
	l := List{began: start}
	checkKeys(t, l.Top(start))
	l.addEach(time.Second/10, 50, start, "often", 1)
	l.addEach(time.Second, 5, start, "dear", 20)
	l.addEach(time.Second, 5, start, "free", 0)
	checkKeys(t, l.Top(start.Add(5*time.Second)), "dear 20.0", "often 10.0")
	checkKeys(t, l.Top(start.Add(10*time.Second)), "dear 10.0", "often 5.0")
	checkKeys(t, l.Top(start.Add(25*time.Second)), "dear 4.0", "often 2.0")
	l.addEach(time.Second/10, 100, start.Add(40*time.Second), "new", 1)
	checkKeys(t, l.Top(start.Add(49*time.Second)), "dear 2.0", "new 2.0", "often 1.0")
	checkKeys(t, l.Top(start.Add(60*time.Second)), "new 2.5") // the list covers the time from 20 s on
	checkKeys(t, l.Top(start.Add(80*time.Second)))
}

// A busy list counts one take in eight as eight takes. It finds all keys, also if they take turns
// with a period of eight.
func TestListSamples(t *testing.T) {
	l := List{began: start}
	const perSecond, seconds, keys = 8000, 4, 16
	for i := range perSecond * seconds {
		l.Add(start.Add(time.Duration(i)*time.Second/perSecond), take(fmt.Sprint("key", i%keys)))
	}
	top := l.Top(start.Add(seconds * time.Second))
	if len(top.Keys) != keys {
		t.Fatalf("%d keys are listed, want %d", len(top.Keys), keys)
	}
	sum := 0.0
	for _, k := range top.Keys {
		sum += k.PerSecond
		if math.Abs(k.PerSecond-perSecond/keys) > perSecond/keys/4 {
			t.Errorf("%s has %.0f/s, want about %d", k.Key, k.PerSecond, perSecond/keys)
		}
	}
	if math.Abs(sum-perSecond) > perSecond/20 {
		t.Errorf("all have %.0f/s, want about %d", sum, perSecond)
	}
	// When takes have become few, the list counts each take again.
	later := start.Add(100 * time.Second)
	l.addEach(time.Second, 20, later, "few", 1)
	for _, k := range l.Top(later.Add(20 * time.Second)).Keys {
		if k.PerSecond < 0.3 || k.PerSecond > 1 { // 20 takes over at least 20 s and at most 60 s
			t.Errorf("%s has %.2f/s, want those of all takes", k.Key, k.PerSecond)
		}
	}
}

func TestListConcurrently(t *testing.T) {
	var l List
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 10_000 {
				l.Add(start.Add(time.Duration(i)*time.Millisecond), take(fmt.Sprint("key", i%10)))
			}
		})
		all.Go(func() {
			for range 10 {
				l.Top(start)
			}
		})
	}
	all.Wait()
	if n := len(l.Top(start.Add(10 * time.Second)).Keys); n != 10 {
		t.Errorf("%d keys are listed, want 10", n)
	}
}

// The lists of a zone have at most 300 kB, and no sketches before the first take.
func TestMemory(t *testing.T) {
	if n := 2 * (unsafe.Sizeof(sketches{}) + shards*unsafe.Sizeof(sketch{})); n > 300_000 {
		t.Errorf("the lists of a zone have %d bytes, want at most 300,000", n)
	}
	if n := unsafe.Sizeof(Lists{}); n > 64 {
		t.Errorf("empty lists have %d bytes, want 64", n)
	}
}

func TestAllocations(t *testing.T) {
	var l List
	l.Add(start, take("a"))
	keys := make([]*Take, 10_000)
	for i := range keys {
		keys[i] = take(fmt.Sprint("key", i))
		l.Add(start, keys[i])
	}
	i := 0
	if n := testing.AllocsPerRun(10_000, func() { l.Add(start, keys[i%len(keys)]); i++ }); n > 0 {
		t.Errorf("%v allocations for a take, want 0", n)
	}
}
