package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

//go:embed report
var reportFiles embed.FS

// WriteReport writes what a simulation found, which is JSON, as one page: a file with its scripts, its
// styles and its figures. Browsers show it without a server, and it loads nothing.
func WriteReport(w io.Writer, report any) error {
	data, err := json.Marshal(report) // it escapes <, so nothing in it ends the script
	if err != nil {
		return err
	}
	file := func(name string) string {
		text, _ := reportFiles.ReadFile("report/" + name) // it is embedded
		return string(text)
	}
	_, err = strings.NewReplacer(
		"/* style */", fileText("vendor/uPlot.min.css")+file("style.css"),
		"/* data */", string(data),
		"/* plot */", fileText("vendor/uPlot.iife.min.js"),
		"/* script */", file("charts.js")+file("report.js"),
	).WriteString(w, file("report.html"))
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
