// Package logs reads the requests of access logs, in the order in which they arrived.
//
// A [Source] is one file. Its lines are read by a [Format]: JSON as Caddy writes it or with fields of
// other names, the combined format of nginx and Apache, and tables with a line of names. A [RowReader]
// makes requests of what the lines have: [Keys] does by two fields. A line that cannot be read is
// counted, never skipped in silence.
//
// A log is written when requests end, so its lines are sorted by arrival within a bound, and several
// files are merged. Memory grows with the number of keys, and not with the length of a log.
package logs
