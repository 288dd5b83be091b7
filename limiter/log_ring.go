package limiter

// A logRing is a queue of entries in a ring that grows and shrinks as needed.
type logRing struct {
	buf  []logEntry // its length is 0 or a power of two, so that a mask finds the index
	head int        // index of the oldest entry
	n    int        // entries
}

// minRing is the length below which a ring does not shrink.
const minRing = 4

// entry returns the i-th oldest entry. 0 <= i < n.
func (q *logRing) entry(i int) *logEntry { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// last returns the newest entry. n > 0.
func (q *logRing) last() *logEntry { return q.entry(q.n - 1) }

// push adds e as the newest.
func (q *logRing) push(e logEntry) {
	if q.n == len(q.buf) {
		q.resize(max(minRing, 2*q.n))
	}
	q.n++
	*q.last() = e
}

// drop removes the oldest. n > 0.
func (q *logRing) drop() {
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

// shrink halves the ring until at least a quarter of it is used. It is then at most half full, so
// the next entries do not make it grow again.
func (q *logRing) shrink() {
	size := len(q.buf)
	for size > minRing && q.n < size/4 {
		size /= 2
	}
	if size < len(q.buf) {
		q.resize(size)
	}
}

// resize moves the entries into a ring of this size, a power of two and at least n.
func (q *logRing) resize(size int) {
	buf := make([]logEntry, size)
	for i := range q.n {
		buf[i] = *q.entry(i)
	}
	q.buf, q.head = buf, 0
}
