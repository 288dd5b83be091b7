//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/bench/load"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// Whose keys are overridden.
const (
	ofOthers  = "others"  // of no request
	ofClients = "clients" // of all requests
)

// storageOption writes an override of each of n keys into a storage of their own, and returns the
// global option that selects the storage.
func (l *lab) storageOption(keys string, n int) (option string, err error) {
	dir := filepath.Join(l.dir, "overrides-"+keys)
	w := rules.NewWatcher(rulestore.NewStorage(&certmagic.FileStorage{Path: dir}), rules.Options{})
	defer w.Close()
	_, err = w.Update(context.Background(), rules.Change{Author: "bench", Apply: func(d *rules.Document) error {
		d.Overrides = make([]*rules.Override, n)
		for i := range d.Overrides {
			key := load.Key(i)
			if keys == ofOthers {
				key = load.Key(n + i)
			}
			d.Overrides[i] = &rules.Override{
				Entry: rules.Entry{ID: fmt.Sprint(i)}, Key: rules.Key{Zone: "api_key", Text: key},
				Limit: fmt.Sprintf("1000/1m burst %d", 1000+i),
			}
		}
		return nil
	}})
	return fmt.Sprintf("\tstorage file_system %s\n", dir), err
}
