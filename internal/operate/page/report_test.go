package page

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

type figures struct {
	Key string `json:"key"`
}

func TestWriteReport(t *testing.T) {
	var b bytes.Buffer
	want := figures{"</script><script>alert(1)</script><!-- \u2028"}
	if err := WriteReport(&b, want); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(strings.ToLower(page), "</script"); n != 3 {
		t.Errorf("the page ends %d scripts, want the 3 that it has", n)
	}
	data := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
	if data == nil {
		t.Fatal("the page has no data")
	}
	var got figures
	if err := json.Unmarshal([]byte(data[1]), &got); err != nil || got != want {
		t.Errorf("data = %q, %v, want %q", data[1], err, want)
	}
	if strings.Contains(page, "/* style */") || strings.Contains(page, "/* plot */") || !strings.Contains(page, "var uPlot=") {
		t.Error("the page lacks styles or scripts")
	}
}

// TestNoOtherHost checks that the page refers to nothing outside of it.
func TestReportNamesNoOtherHost(t *testing.T) {
	var b bytes.Buffer
	if err := WriteReport(&b, figures{}); err != nil {
		t.Fatal(err)
	}
	for _, reference := range regexp.MustCompile(`(?i)(src|href)\s*=\s*"[^"]*"|url\([^)]*\)|@import|\bfetch\(|XMLHttpRequest|WebSocket`).FindAllString(b.String(), -1) {
		if reference != `href="data:,"` {
			t.Errorf("the page refers to %s", reference)
		}
	}
	addresses := regexp.MustCompile(`https?://[^\s"'<)]*`).FindAllString(b.String(), -1)
	for _, address := range addresses {
		if !strings.HasPrefix(address, "https://github.com/leeoniya/uPlot") { // in the notice of its licence
			t.Errorf("the page names the address %s", address)
		}
	}
}
