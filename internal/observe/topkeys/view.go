package topkeys

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// Lists are the lists of a zone. Callers call Begin before the first take.
type Lists struct {
	Taken    List // admitted takes
	Rejected List
}

// A View has the most used keys of a zone, on one node or several.
type View struct{ Taken, Rejected Top }

// Begin says that there was no take before at.
func (l *Lists) Begin(at time.Time) { l.Taken.began, l.Rejected.began = at, at }

// Used reports whether the lists have had a take.
func (l *Lists) Used() bool {
	return l.Taken.sketches.Load() != nil || l.Rejected.sketches.Load() != nil
}

// View returns the most used keys at now.
func (l *Lists) View(now time.Time) View { return View{l.Taken.Top(now), l.Rejected.Top(now)} }

// Hottest returns the events per second, admitted or not, of the key that has most.
func (v *View) Hottest() (perSecond float64) {
	sums := make(map[ID]float64)
	for _, list := range []*Top{&v.Taken, &v.Rejected} {
		for i := range list.Keys {
			k := &list.Keys[i]
			sums[k.ID] += k.PerSecond
			perSecond = max(perSecond, sums[k.ID])
		}
	}
	return perSecond
}

// MergeViews returns the view of several nodes. See [Merge].
func MergeViews(nodes []View) View {
	var taken, rejected []Top
	for i := range nodes {
		taken, rejected = append(taken, nodes[i].Taken), append(rejected, nodes[i].Rejected)
	}
	return View{Merge(taken...), Merge(rejected...)}
}

// encoding is the first byte of an encoded view: the version of the encoding.
const encoding = 1

// Append appends the encoding of v, in which nodes send views to each other. For each list, it has
// Unlisted, the number of keys, and for each key its rule, limit, rate, error, length and text.
// Rates are floats of four bytes.
func (v *View) Append(to []byte) []byte {
	to = append(to, encoding)
	for _, list := range []*Top{&v.Taken, &v.Rejected} {
		to = appendRate(to, list.Unlisted)
		to = append(to, byte(len(list.Keys)))
		for i := range list.Keys {
			k := &list.Keys[i]
			to = binary.BigEndian.AppendUint32(to, k.Rule)
			to = binary.BigEndian.AppendUint32(to, k.Limit)
			to = appendRate(appendRate(to, k.PerSecond), k.Error)
			to = append(append(to, byte(len(k.Key))), k.Key...)
		}
	}
	return to
}

func appendRate(to []byte, rate float64) []byte {
	return binary.BigEndian.AppendUint32(to, math.Float32bits(float32(rate)))
}

var errEncoding = errors.New("topkeys: not an encoded view of this version")

// Decode returns the view that Append has encoded. It returns an error if Append of this version
// cannot have written encoded.
func Decode(encoded []byte) (v View, err error) {
	d := decoder{rest: encoded}
	if d.byte() != encoding {
		return v, errEncoding
	}
	for _, list := range []*Top{&v.Taken, &v.Rejected} {
		list.Unlisted = d.rate()
		n := d.byte()
		if n > Most {
			return View{}, errEncoding
		}
		for range n {
			k := Key{ID: ID{Rule: d.uint32()}, Limit: d.uint32(), PerSecond: d.rate(), Error: d.rate()}
			length := int(d.byte())
			if length > maxKey {
				return View{}, errEncoding
			}
			k.Key = string(d.next(length))
			list.Keys = append(list.Keys, k)
		}
	}
	if d.failed || len(d.rest) > 0 {
		return View{}, errEncoding
	}
	return v, nil
}

// A decoder reads what Append writes. Once it has failed, it returns zeros.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) next(n int) (bytes []byte) {
	if d.failed = d.failed || n > len(d.rest); d.failed {
		return make([]byte, n)
	}
	bytes, d.rest = d.rest[:n], d.rest[n:]
	return bytes
}

func (d *decoder) byte() byte { return d.next(1)[0] }

func (d *decoder) uint32() uint32 { return binary.BigEndian.Uint32(d.next(4)) }

// rate reads a rate. It fails on other floats, as NaN would be neither more nor less than other
// rates.
func (d *decoder) rate() float64 {
	rate := float64(math.Float32frombits(d.uint32()))
	if !(rate >= 0 && rate <= math.MaxFloat32) {
		d.failed = true
	}
	return rate
}
