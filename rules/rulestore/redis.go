package rulestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
)

var (
	readScript  = redisconn.NewScript(lua.ReadRules())
	listScript  = redisconn.NewScript(lua.ListRules())
	writeScript = redisconn.NewScript(lua.WriteRules())
)

// Redis keeps versions in one hash of a Redis.
//
// A version is acknowledged when the primary has it. Redis decides how long that lasts: a Redis
// that persists with "appendfsync always" keeps it when it is killed, one with the default
// "everysec" may lose the last second, one that does not persist loses all, and a failover loses
// what the replica has not received. A [rules.Watcher] then writes back the newest version that its
// node knows or has in its copy, and the history of the copy. So a version is lost for good only if
// Redis and all nodes that had seen it lose it.
//
// Redis must allow its user what the scripts do, and to publish and subscribe. Without the last
// two, nodes learn of versions when they poll.
type Redis struct {
	conn    *redisconn.Conn
	channel string
	limits  limits
	cache   documentCache
}

// NewRedis returns a store on the Redis of a client. It dials nothing, and must be closed before
// the client. Fleets with different prefixes have different rules.
func NewRedis(client *redisconn.Client, prefix string) *Redis {
	key := prefix + ":{rules}:versions" // counts have no key that ends like this
	return &Redis{conn: client.NewConn(key), channel: key, limits: defaultLimits}
}

// Name implements [rules.Store].
func (r *Redis) Name() string { return "redis" }

// Close implements [rules.Store].
func (r *Redis) Close() error {
	r.conn.Close()
	return nil
}

// Latest implements [rules.Store].
func (r *Redis) Latest(ctx context.Context) (*rules.Version, error) {
	v, err := r.read(ctx, "")
	if errors.Is(err, rules.ErrNotFound) {
		return &rules.Version{Document: new(rules.Document)}, nil
	}
	return v, err
}

// Version implements [rules.Store].
func (r *Redis) Version(ctx context.Context, number int64) (*rules.Version, error) {
	return r.read(ctx, fmt.Sprint(number))
}

// read returns a version, or the newest one if number is empty.
func (r *Redis) read(ctx context.Context, number string) (*rules.Version, error) {
	known, knownName := r.cache.get()
	reply, err := texts(r.conn.Eval(ctx, readScript, number, knownName))
	if err != nil {
		return nil, err
	}
	if len(reply) == 0 {
		return nil, rules.ErrNotFound
	}
	v, name, err := parseVersion(reply[0])
	if err != nil {
		return nil, err
	}
	if len(reply) == 1 {
		v.Document = known
		return v, nil
	}
	if v.Document, err = decode(name, []byte(reply[1])); err != nil {
		return nil, err
	}
	if number == "" {
		r.cache.set(v.Document, name)
	}
	return v, nil
}

// texts returns a reply that is a list of texts.
func texts(reply any, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	all := make([]string, len(list))
	for i, element := range list {
		text, isText := element.(string)
		all[i], ok = text, ok && isText
	}
	if !ok {
		return nil, damaged(errors.New("a part is missing"))
	}
	return all, nil
}

// parseVersion returns a version without its document, and the name of that.
func parseVersion(text string) (v *rules.Version, document string, err error) {
	if len(text) < nameLength {
		return nil, "", damaged(errors.New("a version is too short"))
	}
	v = new(rules.Version)
	if err := json.Unmarshal([]byte(text[nameLength:]), v); err != nil {
		return nil, "", damaged(err)
	}
	return v, text[:nameLength], nil
}

// History implements [rules.Store].
func (r *Redis) History(ctx context.Context, before int64, limit int) ([]*rules.Version, error) {
	reply, err := texts(r.conn.Eval(ctx, listScript, before, limit))
	if err != nil {
		return nil, err
	}
	history := make([]*rules.Version, len(reply))
	for i, text := range reply {
		if history[i], _, err = parseVersion(text); err != nil {
			return nil, err
		}
	}
	return history, nil
}

// Write implements [rules.Store]. A version that Redis has is not written again. So it may be sent
// again after an answer was lost.
func (r *Redis) Write(ctx context.Context, v *rules.Version, after int64) error {
	var compressed []byte
	name := r.cache.nameOf(v.Document)
	for {
		if name == "" || compressed != nil {
			var err error
			if name, compressed, err = encode(v.Document); err != nil {
				return err
			}
		}
		text, err := json.Marshal(withoutDocument(v))
		if err != nil {
			return err
		}
		reply, err := r.conn.Eval(ctx, writeScript,
			after, v.Number, name+string(text), compressed, r.limits.versions, r.limits.bytes, r.channel)
		switch {
		case err != nil:
			return err
		case reply == "conflict":
			return rules.ErrConflict
		case reply == "written":
			if v.Number > after {
				r.cache.set(v.Document, name)
			}
			return nil
		}
		name = "" // Redis has lost the document
	}
}

// Settings returns those of the Redis that has the rules.
func (r *Redis) Settings(ctx context.Context) (redisconn.Settings, error) {
	return r.conn.Settings(ctx)
}

// Watch implements [rules.Store].
func (r *Redis) Watch(ctx context.Context, changed func()) error {
	return r.conn.Subscribe(ctx, r.channel, changed)
}
