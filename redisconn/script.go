package redisconn

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// A Script is the source of a Lua script. It is sent as its digest. Calls to a server that may not
// know it yet are preceded by the source, in the same pipeline: a call that Redis refused because it
// lacks the script would take twice as long, and be too late for its caller.
type Script struct{ source, digest string }

// NewScript returns the script with this source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source)) // the digest of EVALSHA
	return &Script{source, hex.EncodeToString(sum[:])}
}

// load returns the command that has a server know s.
func (s *Script) load() *redis.StringCmd {
	return redis.NewStringCmd(context.Background(), "script", "load", s.source)
}

// mostScripts is how many scripts a new server is sent at once, before the first call.
const mostScripts = 64

// usedScripts are the scripts of the calls of a client, as far as they are sent to a new server: it
// takes long to send all of them, over a connection that is new too.
type usedScripts struct {
	mu   sync.Mutex
	list []*Script
}

func (u *usedScripts) add(scripts []*Script) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range scripts {
		if len(u.list) < mostScripts && !slices.Contains(u.list, s) {
			u.list = append(u.list, s)
		}
	}
}

func (u *usedScripts) all() []*Script {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.list)
}

// knownScripts are the scripts that a process of a server has loaded. It loses them only by SCRIPT
// FLUSH.
type knownScripts struct {
	process string // its run_id; empty: unknown, and then they are those of one connection

	mu      sync.Mutex
	known   map[*Script]bool
	flushes uint64 // of the queue, when they were loaded
}

// lacking returns the scripts of batch that the server may not know, given the flushes of the queue.
func (k *knownScripts) lacking(batch []*pending, flushes uint64) (scripts []*Script) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range batch {
		if (k.flushes != flushes || !k.known[p.script]) && !slices.Contains(scripts, p.script) {
			scripts = append(scripts, p.script)
		}
	}
	return scripts
}

// note notes that the server knows a script that it was sent when the queue had these flushes.
func (k *knownScripts) note(script *Script, flushes uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || flushes > k.flushes {
		k.known, k.flushes = make(map[*Script]bool), flushes
	}
	if flushes == k.flushes {
		k.known[script] = true
	}
}

// loadScripts has the server of a link that was made at that time know the scripts that calls have
// used, unless another link has seen to that. It fails if the link does. When the server is another
// process than before, the links to that one are of no use any more.
func (w *worker) loadScripts(l *link, made time.Time) error {
	w.mu.Lock()
	known := w.known
	w.mu.Unlock()
	if known != nil && known.process == l.process && l.process != "" {
		w.scripts = known
		return nil
	}
	w.scripts = &knownScripts{process: l.process}
	if scripts := w.client.scripts.all(); len(scripts) > 0 {
		flushes, cmds := w.flushes.Load(), make([]redis.Cmder, len(scripts))
		for i, s := range scripts {
			cmds[i] = s.load()
		}
		if err := l.run(cmds, nil); err != nil {
			return err
		}
		for i, s := range scripts {
			if cmds[i].Err() == nil {
				w.scripts.note(s, flushes)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known != nil && w.known.process != w.scripts.process {
		w.reconnectLocked(made)
	}
	w.known = w.scripts
	return nil
}
