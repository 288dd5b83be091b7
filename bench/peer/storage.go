package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/certmagic"
	redis "github.com/redis/go-redis/v9"
)

func init() { caddy.RegisterModule(new(storage)) }

// A storage keeps Caddy's files in one hash of a Redis Cluster, each in a field. The syntax is
//
//	storage cluster <address...>
type storage struct {
	Addresses []string

	client *redis.ClusterClient
}

const files = "caddy"

// CaddyModule implements caddy.Module.
func (*storage) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "caddy.storage.cluster", New: func() caddy.Module { return new(storage) }}
}

// UnmarshalCaddyfile implements caddyfile.Unmarshaler.
func (s *storage) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the name of the module
	s.Addresses = d.RemainingArgs()
	return nil
}

// CertMagicStorage implements caddy.StorageConverter.
func (s *storage) CertMagicStorage() (certmagic.Storage, error) {
	s.client = newClient(s.Addresses)
	return s, nil
}

// Cleanup implements caddy.CleanerUpper.
func (s *storage) Cleanup() error { return s.client.Close() }

// Store implements certmagic.Storage.
func (s *storage) Store(ctx context.Context, name string, value []byte) error {
	return s.client.HSet(ctx, files, name, value).Err()
}

// Load implements certmagic.Storage.
func (s *storage) Load(ctx context.Context, name string) ([]byte, error) {
	value, err := s.client.HGet(ctx, files, name).Bytes()
	if errors.Is(err, redis.Nil) {
		err = fs.ErrNotExist
	}
	return value, err
}

// Delete implements certmagic.Storage.
func (s *storage) Delete(ctx context.Context, name string) error {
	return s.client.HDel(ctx, files, name).Err()
}

// Exists implements certmagic.Storage.
func (s *storage) Exists(ctx context.Context, name string) bool {
	found, _ := s.client.HExists(ctx, files, name).Result()
	return found
}

// List implements certmagic.Storage.
func (s *storage) List(ctx context.Context, prefix string, _ bool) (below []string, err error) {
	all, err := s.client.HKeys(ctx, files).Result()
	for _, name := range all {
		if strings.HasPrefix(name, prefix+"/") {
			below = append(below, name)
		}
	}
	return below, err
}

// Stat implements certmagic.Storage.
func (s *storage) Stat(ctx context.Context, name string) (certmagic.KeyInfo, error) {
	value, err := s.Load(ctx, name)
	return certmagic.KeyInfo{Key: name, Size: int64(len(value)), IsTerminal: true}, err
}

// Lock implements certmagic.Storage. It does nothing, as caddy-ratelimit needs no locks.
func (s *storage) Lock(context.Context, string) error { return nil }

// Unlock implements certmagic.Storage.
func (s *storage) Unlock(context.Context, string) error { return nil }
