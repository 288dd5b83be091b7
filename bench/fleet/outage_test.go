//go:build linux

package main

import "testing"

func TestProductsWithoutPeer(t *testing.T) {
	o, err := parseOptions([]string{"-caddy", "caddy"})
	if err != nil {
		t.Fatal(err)
	}
	if all := o.products(); len(all) != 2 || all[0].shares != nil || all[1].name != "fleetlimit" {
		t.Errorf("%d products without -peer, want Caddy without a limiter and fleetlimit", len(all))
	}
	if o.peer = "peer"; len(o.products()) != 4 {
		t.Errorf("%d products with -peer, want 4", len(o.products()))
	}
}
