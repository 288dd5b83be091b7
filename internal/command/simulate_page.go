package command

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/simpage"
)

// writePage writes the page of --html, if there is one.
func writePage(f *pflag.FlagSet, report *simulation) error {
	name, _ := f.GetString("html")
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := simpage.Write(file, report); err != nil {
		_ = file.Close() // the first error counts
		return err
	}
	return file.Close()
}
