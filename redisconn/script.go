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

// A Script is a Lua script. A call sends only its digest. If the server may not know the script yet,
// the source precedes the call in the same pipeline. Without that, Redis would refuse the call, and the
// second round trip would be too late for its caller.
type Script struct{ source, digest string }

// NewScript returns the script with this source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source)) // the digest of EVALSHA
	return &Script{source, hex.EncodeToString(sum[:])}
}

// load returns the command that loads s into a server.
func (s *Script) load() *redis.StringCmd {
	return redis.NewStringCmd(context.Background(), "script", "load", s.source)
}

// mostScripts is how many scripts at most are sent to a new server before the first call.
const mostScripts = 64

// usedScripts are the first mostScripts scripts that calls of a client have used. A new server gets
// them before the first call. More scripts would take too long over a connection that is new too.
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
	process string // its run_id; empty if unknown: then the scripts are those that one connection has loaded

	mu      sync.Mutex
	known   map[*Script]bool
	flushes uint64 // the flushes of the queue when the scripts were loaded
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

// note notes that the server knows a script. flushes are those of the queue when the script was sent.
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

// loadScripts loads the scripts that calls have used into the server of l, unless the same process has
// got them over another link. It fails if l fails. made is when l was made. If the server is another
// process than before, links that were made earlier are closed, because they lead to the old process.
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
