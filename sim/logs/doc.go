// Package logs reads the requests of access logs, in the order in which they arrived.
//
// A [Source] is one file. A [Format] reads its lines: JSON, as Caddy writes it or with other names of
// fields; the combined format of nginx and Apache; and tables whose first line has the names of
// columns. A [RowReader] makes a request of the fields of a line. [Keys] returns one that uses two
// fields. A line that cannot be read is counted, so no line is skipped in silence.
//
// The lines of a log are in the order in which requests ended. The package sorts them by arrival,
// within a bound, and merges several files. The memory that it takes grows with the number of keys, and
// not with the length of a log.
package logs
