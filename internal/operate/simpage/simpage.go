// Package simpage writes what a simulation found as one page: a file with its scripts, its styles
// and its figures, which browsers show without a server. It loads nothing.
package simpage

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/operate/page"
)

//go:embed static
var static embed.FS

// Write writes the page of a report, which is a simulation's answer as JSON.
func Write(w io.Writer, report any) error {
	data, err := json.Marshal(report) // it escapes <, so nothing in it ends the script
	if err != nil {
		return err
	}
	file := func(name string) string {
		text, _ := static.ReadFile("static/" + name) // it is embedded
		return string(text)
	}
	_, err = strings.NewReplacer(
		"/* style */", page.Text("vendor/uPlot.min.css")+file("style.css"),
		"/* data */", string(data),
		"/* plot */", page.Text("vendor/uPlot.iife.min.js"),
		"/* script */", file("charts.js")+file("report.js"),
	).WriteString(w, file("report.html"))
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
