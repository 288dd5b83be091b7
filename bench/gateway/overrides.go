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

// These say whose keys have overrides.
const (
	ofOthers  = "others"  // keys that no request has
	ofClients = "clients" // the keys of all requests
)

// storageOption writes an override for each of n keys into a new storage. It returns the global option
// that selects that storage.
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
