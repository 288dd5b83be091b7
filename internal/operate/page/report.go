package page

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteReport writes what a simulation found, which is JSON, as one page: a file with its scripts,
// its styles and its figures. Browsers show it without a server, and it loads nothing.
func WriteReport(w io.Writer, report any) error {
	data, err := json.Marshal(report) // it escapes <, so nothing in it ends the script
	if err != nil {
		return err
	}
	file := func(name string) string {
		text, _ := embedded.ReadFile(name) // it is embedded
		return string(text)
	}
	_, err = strings.NewReplacer(
		"/* style */", file("static/vendor/uPlot.min.css")+file("report/style.css"),
		"/* data */", string(data),
		"/* plot */", file("static/vendor/uPlot.iife.min.js"),
		"/* script */", file("report/charts.js")+file("report/report.js"),
	).WriteString(w, file("report/report.html"))
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
