package usage

import "sync"

// ReportsPerSecond is the number of reports that a zone makes in a second.
const ReportsPerSecond = 10

// A ReportLimit bounds the reports of a zone in each second of the clock.
type ReportLimit struct {
	mu         sync.Mutex
	second     int64
	reports    int    // in this second
	suppressed uint64 // since the last report
}

// Allow reports whether a report is allowed, and how many were suppressed since the last one.
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
