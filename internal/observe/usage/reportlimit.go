package usage

import "sync"

// ReportsPerSecond is the number of reports that a limit allows in a second.
const ReportsPerSecond = 10

// A ReportLimit bounds the reports of a zone in each second of the clock.
type ReportLimit struct {
	mu         sync.Mutex
	second     int64
	reports    int    // reports allowed in this second
	suppressed uint64 // reports not allowed since the last allowed one
}

// Allow reports whether a report in this second is allowed, and how many were not allowed since the
// last allowed one.
func (l *ReportLimit) Allow(second int64) (ok bool, suppressed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second != l.second {
		l.second, l.reports = second, 0
	}
	if l.reports == ReportsPerSecond {
		l.suppressed++
		return false, 0
	}
	l.reports++
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}
