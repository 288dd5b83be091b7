package command

import (
	"os"

	"github.com/fleetlimit/fleetlimit/internal/operate/page"
)

// writePage writes the page of --html, if it has a name.
func writePage(name string, report *simulation) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := page.WriteReport(file, report); err != nil {
		_ = file.Close() // the first error counts
		return err
	}
	return file.Close()
}
