package redisconn

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
)

// A Script is the source of a Lua script. It is sent as its digest. Calls over a connection that has
// not used it yet are preceded by the source, in the same pipeline: a call that Redis refused
// because it lacks the script would take twice as long, and be too late for its caller.
type Script struct{ source, digest string }

// NewScript returns the script with this source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source)) // the digest of EVALSHA
	return &Script{source, hex.EncodeToString(sum[:])}
}

// knownScripts are the scripts that the server of one connection has executed. It may have lost them
// since only by SCRIPT FLUSH: a restart ends the connection.
type knownScripts struct {
	known   map[*Script]bool
	flushes uint64 // of the queue, when the newest pipeline was written
}

// lacking returns the scripts of batch that the server may not know, given the flushes of the queue.
func (k *knownScripts) lacking(batch []*pending, flushes uint64) (scripts []*Script) {
	if k.known == nil || k.flushes != flushes {
		k.known, k.flushes = make(map[*Script]bool), flushes
	}
	for _, p := range batch {
		if !k.known[p.script] && !slices.Contains(scripts, p.script) {
			scripts = append(scripts, p.script)
		}
	}
	return scripts
}

// note notes that the server has executed a script of the newest pipeline.
func (k *knownScripts) note(script *Script) { k.known[script] = true }
