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

	completeScript = redisconn.NewScript(lua.CompleteRules())
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
	idle    *background
}

// NewRedis returns a store on the Redis of a client. It dials nothing, and must be closed before
// the client. Fleets with different prefixes have different rules.
func NewRedis(client *redisconn.Client, prefix string) *Redis {
	key := prefix + ":{rules}:versions" // counts have no key that ends like this
	return &Redis{conn: client.NewConn(key), channel: key, limits: defaultLimits, idle: newBackground()}
}

// Name implements [rules.VersionStore].
func (r *Redis) Name() string { return "redis" }

// Close implements [rules.VersionStore].
func (r *Redis) Close() error {
	r.idle.close()
	r.conn.Close()
	return nil
}

// Latest implements [rules.VersionStore].
func (r *Redis) Latest(ctx context.Context) (*rules.Version, error) {
	v, err := r.read(ctx, "")
	if errors.Is(err, rules.ErrNotFound) {
		return &rules.Version{Document: new(rules.Document)}, nil
	}
	return v, err
}

// Version implements [rules.VersionStore].
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
	if v.Document, err = parseDocument(known, knownName, name, reply[1:]); err != nil {
		return nil, err
	}
	if number == "" {
		r.cache.set(v.Document, name)
	}
	return v, nil
}

// parseDocument returns the document called name from what the script replies about it: a whole
// document, or nothing if the patches begin with the known one, and the patches.
func parseDocument(known *rules.Document, knownName, name string, reply []string) (*rules.Document, error) {
	document, base := known, knownName
	if whole := reply[0]; whole != "" {
		var err error
		if document, err = decode([]byte(whole[nameLength:])); err != nil {
			return nil, err
		}
		base = whole[:nameLength]
	}
	var patches []storedPatch
	for i := len(reply) - 2; i >= 1; i -= 2 {
		patches = append(patches, storedPatch{reply[i], []byte(reply[i+1])})
	}
	document, err := patched(document, base, patches)
	if last := len(patches) - 1; err == nil && (last < 0 && base != name || last >= 0 && patches[last].name != name) {
		return nil, damaged(errors.New("the document is missing"))
	}
	return document, err
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

// parseVersion returns a version without its document, and the name of the document.
func parseVersion(text string) (v *rules.Version, document string, err error) {
	if len(text) < nameLength {
		return nil, "", damaged(errors.New("a version is too short"))
	}
	v = new(rules.Version)
	if err := rules.Unmarshal([]byte(text[nameLength:]), v); err != nil {
		return nil, "", damaged(err)
	}
	return v, text[:nameLength], nil
}

// History implements [rules.VersionStore].
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

// Write implements [rules.VersionStore]. The script does not write a version again that Redis has,
// so Write may be repeated after an answer was lost.
func (r *Redis) Write(ctx context.Context, v *rules.Version, after int64) error {
	document, err := r.cache.encode(v.Document)
	if err != nil {
		return err
	}
	text, err := json.Marshal(v.WithoutDocument())
	if err != nil {
		return err
	}
	reply, err := r.write(ctx, v, after, document, text)
	if reply == "document" { // Redis has lost the known one
		if document, err = encode(v.Document); err != nil {
			return err
		}
		reply, err = r.write(ctx, v, after, document, text)
	}
	patches, written := reply.(int64)
	switch {
	case err != nil:
		return err
	case reply == "conflict":
		return rules.ErrConflict
	case !written:
		return fmt.Errorf("Redis has not written the rules: %v", reply)
	}
	if v.Number > after {
		r.cache.set(v.Document, document.name)
		if patches >= mostPatches {
			r.idle.run(func(ctx context.Context) { r.complete(ctx, document.name, v.Document) })
		}
	}
	return nil
}

// write sends v, whose text without the document is text, with its document d.
func (r *Redis) write(ctx context.Context, v *rules.Version, after int64, d *encodedDocument, text []byte) (any, error) {
	return r.conn.Eval(ctx, writeScript,
		after, v.Number, d.name+string(text), d.data, d.base, r.limits.versions, r.limits.bytes, r.channel)
}

// complete stores a document whole that is stored as a patch, so that a reader need not apply ever
// more patches. If it fails, the next Write tries again.
func (r *Redis) complete(ctx context.Context, name string, document *rules.Document) {
	if whole, err := encode(document); err == nil {
		_, _ = r.conn.Eval(ctx, completeScript, name, whole.data)
	}
}

// Settings returns the settings of the Redis that has the rules.
func (r *Redis) Settings(ctx context.Context) (redisconn.Settings, error) {
	return r.conn.Settings(ctx)
}

// Watch implements [rules.VersionStore].
func (r *Redis) Watch(ctx context.Context, changed func()) error {
	return r.conn.Subscribe(ctx, r.channel, func(string) { changed() })
}
