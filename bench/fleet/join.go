package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// slots is how many parts the keys of every cluster are in.
const slots = 16384

// join makes the servers one cluster.
func (c *cluster) join() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ids := make([]string, len(c.servers))
	for i, s := range c.servers {
		err := await(ctx, func() (err error) {
			ids[i], err = s.client.ClusterMyID(ctx).Result()
			return err
		})
		if err != nil {
			return err
		}
		// The epoch is set while it knows nobody.
		if err := s.client.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return err
		}
		if i < primaries {
			if err := s.client.ClusterAddSlotsRange(ctx, i*slots/primaries, (i+1)*slots/primaries-1).Err(); err != nil {
				return err
			}
		}
		for _, other := range c.servers[:i] {
			if err := s.client.Do(ctx, "cluster", "meet", host, other.port, other.bus).Err(); err != nil {
				return err
			}
		}
	}
	for i, s := range c.servers[primaries:] {
		// It has to have heard of its primary before.
		if err := await(ctx, func() error { return s.client.ClusterReplicate(ctx, ids[i]).Err() }); err != nil {
			return err
		}
	}
	if err := await(ctx, func() error { return c.ready(ctx) }); err != nil {
		return err
	}
	for _, s := range c.servers {
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ready returns why a server does not see the whole cluster, or a replica has not its primary's data.
func (c *cluster) ready(ctx context.Context) error {
	for i, s := range c.servers {
		info, err := s.client.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		known := fmt.Sprintf("cluster_known_nodes:%d\r\n", len(c.servers))
		if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, known) {
			return fmt.Errorf("the server at port %d sees\n%s", s.port, info)
		}
		nodes, err := s.client.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		for _, addr := range c.addrs { // where clients are sent
			if !strings.Contains(nodes, addr+"@") {
				return fmt.Errorf("the server at port %d sees none at %s", s.port, addr)
			}
		}
		if i < primaries {
			continue
		}
		if info, err = s.client.Info(ctx, "replication").Result(); err != nil {
			return err
		}
		if !strings.Contains(info, "master_link_status:up") {
			return fmt.Errorf("the server at port %d has no link to its primary", s.port)
		}
	}
	return nil
}

// await returns when done returns nil, or with its last error when ctx ends.
func await(ctx context.Context, done func() error) error {
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
