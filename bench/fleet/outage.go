//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// measureOutage prints what fleets of real gateways do while all primaries are down, beside fleets of
// peers.
func measureOutage(l *lab) error {
	logging.Disable() // go-redis would report each killed server
	defer logging.Enable()
	defer l.stopCluster() // the cluster does not heal, so the next measurement starts another one
	window := 20 * time.Second
	if l.short {
		window = 500 * time.Millisecond
	}
	pair, stop, err := l.startGateways(l.products(), 2, window)
	if err != nil {
		return err
	}
	defer stop()
	if err := l.measureOutageSpeed(pair); err != nil {
		return err
	}
	if err := l.measurePromotion(pair[1:]); err != nil {
		return err
	}
	c := printShareHead(window)
	if l.short {
		return l.measureShare(pair[1:], window, c)
	}
	stop()
	for _, size := range []int{1, 4, 20} {
		if err := l.heal(); err != nil {
			return err
		}
		all, stop, err := l.startGateways(l.products()[1:], size, window)
		if err != nil {
			return err
		}
		err = l.measureShare(all, window, c)
		stop()
		if err != nil {
			return err
		}
	}
	return c.save(l.plot, "fleet-outage.svg")
}

// settle waits until every product has noticed that an outage begins or ends.
func (l *lab) settle() {
	if !l.short {
		time.Sleep(settling)
	}
	time.Sleep(settling / 10)
}

// settling is longer than go-redis, the products and the cluster need to notice.
const settling = 2 * time.Second

// gateways are the gateways of a fleet. All of them run one product.
type gateways struct {
	*product
	nodes []*caddy.Process
}

// startGateways starts a fleet of each product. It returns when all nodes know of each other.
func (l *lab) startGateways(products []*product, size int, window time.Duration) (
	all []*gateways, stop func(), err error,
) {
	dir, err := os.MkdirTemp("", "outage")
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		for _, g := range all {
			for _, n := range g.nodes {
				if n != nil {
					n.Stop()
				}
			}
			g.nodes = nil
		}
		_ = os.RemoveAll(dir)
	}
	var starting errgroup.Group
	starting.SetLimit(4)
	for _, p := range products {
		g := &gateways{product: p, nodes: make([]*caddy.Process, size)}
		all = append(all, g)
		filled := strings.NewReplacer("%ADDRESSES%", strings.Join(l.Addrs, " "), "%WINDOW%", window.String(),
			"%FLEET%", filepath.Base(dir))
		for i := range g.nodes {
			starting.Go(func() (err error) {
				g.nodes[i], err = caddy.Start(p.binary, dir, filled.Replace(p.options), filled.Replace(p.site), nil)
				return err
			})
		}
	}
	err = starting.Wait()
	for _, g := range all {
		for _, n := range g.nodes {
			if err == nil && g.aware && !l.short {
				err = awaitFleet(n, size)
			}
		}
	}
	if err != nil {
		stop()
	}
	return all, stop, err
}

// awaitFleet returns when the node n knows that the fleet has this size.
func awaitFleet(n *caddy.Process, size int) error {
	want := regexp.MustCompile(fmt.Sprintf("(?m)^caddy_rate_limit_nodes{.*} %d$", size))
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		_, metrics, err := get(n, "/metrics", "")
		if err == nil && want.MatchString(metrics) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a node does not know that there are %d (error %v)", size, err)
		}
	}
}

var httpClient = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// get makes a request to a node, for a path and with a key.
func get(n *caddy.Process, path, key string) (status int, body string, err error) {
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s:%d%s", host, n.Port, path), nil)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("X-Api-Key", key)
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// withRole returns the running servers whose role is role, "master" or "slave".
func (c *cluster) withRole(role string) (found []*redistest.Server) {
	for _, s := range c.Servers {
		info, err := s.Client().Info(context.Background(), "replication").Result()
		if err == nil && strings.Contains(info, "role:"+role) {
			found = append(found, s)
		}
	}
	return found
}

// A fault is a way in which all primaries fail.
type fault string

const (
	killed  fault = "killed"  // connections are refused
	stopped fault = "stopped" // requests get no answer
)

// strike makes all primaries fail. It returns when the gateways have noticed. No replica can take over
// by itself, because the primaries elect.
func (l *lab) strike(f fault) error {
	for _, s := range l.withRole("master") {
		if f == killed {
			s.Kill()
		} else if err := s.TryPause(); err != nil {
			return err
		}
	}
	l.settle()
	return nil
}

// promote makes all replicas primaries. It returns when they serve requests.
func (c *cluster) promote() error {
	for _, s := range c.withRole("slave") {
		if err := s.Client().Do(context.Background(), "cluster", "failover", "takeover").Err(); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		serving := 0
		for _, s := range c.withRole("master") {
			info, err := s.Client().ClusterInfo(context.Background()).Result()
			if err == nil && strings.Contains(info, "cluster_state:ok") {
				serving++
			}
		}
		if serving == 3 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of 3 promoted replicas serve", serving)
		}
	}
}

// heal continues or starts the servers that do not run. It returns when the gateways have noticed.
func (l *lab) heal() error {
	if err := l.Revive(); err != nil {
		return err
	}
	l.settle()
	return l.keepRoles()
}
