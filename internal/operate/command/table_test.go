package command

import (
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	table := newTable(&b)
	table.row("ID", "AT", "REASON")
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	table.row("a", &at, "\x1b[31mred\n")
	table.row("long", (*time.Time)(nil), map[string]any{"limit": "1/s"})
	table.line("end %d", 1)
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `ID    AT                    REASON
a     2026-01-02T02:04:05Z  "\x1b[31mred\n"
long  -                     {"limit":"1/s"}
end 1
`
	if got := b.String(); got != want {
		t.Errorf("table =\n%s, want\n%s", got, want)
	}
}
