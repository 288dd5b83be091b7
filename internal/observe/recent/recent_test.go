package recent

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

const second = 1_000_000

func key(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// A memory is off before somebody asks, and again an hour after the last question.
func TestOnDemand(t *testing.T) {
	var m Memory
	if m.On() {
		t.Error("decisions are remembered before somebody asks")
	}
	m.Want(10 * second)
	m.Add(key(1), Decision{At: 11 * second, Cost: 2, Count: 3, Place: 4})
	m.Want(20 * second)
	m.Add(key(1), Decision{At: Span + 15*second, Cost: 1})
	v := m.View(Span + 15*second)
	if len(v.Decisions) != 1 || v.Since != 15*second || v.Part != 1 {
		t.Errorf("view = %+v, want the newer decision, since 15 s", v)
	}
	if m.Add(key(1), Decision{At: Span + 21*second}); m.On() {
		t.Error("decisions are remembered an hour after the last question")
	}
	m.Want(2 * Span)
	if v := m.View(2 * Span); len(v.Decisions) != 0 || v.Since != 2*Span || !m.On() {
		t.Errorf("view = %+v, want nothing since the new question", v)
	}
}

// A memory has a bounded number of decisions, and all decisions about the keys in its sample. Five
// runs have five samples, as the seed is random.
func TestSample(t *testing.T) {
	for range 5 {
		sample(t)
	}
}

func sample(t *testing.T) {
	t.Helper()
	var m Memory
	m.Want(1)
	const keys, each = 4000, 50
	for i := range keys * each {
		skip := m.skip.Load()
		m.Add(key(i%keys), Decision{At: int64(1 + i), Cost: 1})
		if is := m.skip.Load(); is != skip && slices.ContainsFunc(m.all, func(d Decision) bool { return d.Key&is != 0 }) {
			t.Fatal("a key that is not in the sample is remembered")
		}
	}
	v := m.View(keys*each + 1)
	if len(v.Decisions) > Most || len(v.Decisions) < Most/8 {
		t.Fatalf("%d decisions, want %d at most, and not many fewer", len(v.Decisions), Most)
	}
	perKey := make(map[uint64]int)
	for _, d := range v.Decisions {
		perKey[d.Key]++
	}
	for _, n := range perKey {
		if n != each {
			t.Fatalf("a key of the sample has %d decisions, want all %d", n, each)
		}
	}
	if got := float64(len(perKey)) / keys; got < v.Part*0.6 || got > v.Part*1.4 || v.Since != 1 {
		t.Errorf("%.3f of the keys are in the sample since %d, which says %.3f", got, v.Since, v.Part)
	}
	if !slices.IsSortedFunc(v.Decisions, byTime) {
		t.Error("the decisions are out of order")
	}
}

// When a few keys fill the memory, it keeps the newer decisions about all of them.
func TestFewKeys(t *testing.T) {
	var m Memory
	m.Want(1)
	rng := rand.New(rand.NewPCG(1, 2))
	const last = 3 * Most
	for i := range last {
		m.Add(key(rng.IntN(3)), Decision{At: int64(1 + i), Cost: 1})
	}
	v := m.View(last)
	if v.Part != 1 || len(v.Decisions) > Most || v.Decisions[len(v.Decisions)-1].At != last || v.Decisions[0].At < v.Since || v.Since < 2 {
		t.Errorf("part %v, %d decisions since %d, want all keys and the newest", v.Part, len(v.Decisions), v.Since)
	}
	if n := v.Decisions[len(v.Decisions)-1].At - v.Decisions[0].At + 1; int(n) != len(v.Decisions) {
		t.Errorf("%d decisions of %d instants, want all since the first", len(v.Decisions), n)
	}
}

func BenchmarkAdd(b *testing.B) {
	var m Memory
	m.Want(1)
	k := []byte("kt0123456789abcdef")
	b.ReportAllocs()
	for i := range b.N {
		k[5] = byte(i)
		m.Add(k, Decision{At: int64(i), Cost: 1})
	}
}
