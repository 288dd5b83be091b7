package inspect

import (
	"encoding/base64"
	"errors"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A KeyRef is a key as a request to the admin API names it. Stored is the key as the store has it,
// in base64: for keys that no text names.
type KeyRef struct {
	rules.Key
	Stored string
}

var errNotStored = errors.New("key_stored is not one that keys of the zone have: use what GET /rate_limit/zones/{zone}/top shows")

// resolve returns the keys of requests that ref names in z, and completes its name.
func (ref *KeyRef) resolve(z *zone.Zone) (keys [][]byte, err error) {
	if ref.Stored == "" {
		return z.KeysOf(&ref.Key)
	}
	if ref.Text != "" || ref.Base64 != "" {
		return nil, errors.New("there are both key_stored and a key: use one of them")
	}
	key, err := base64.StdEncoding.DecodeString(ref.Stored)
	if err != nil {
		return nil, errNotStored
	}
	name, exact := z.NameOf(key)
	if !exact && name.Text == "" && name.Base64 == "" && !keytemplate.IsDigest(key) {
		return nil, errNotStored
	}
	name.Missing = name.Missing || ref.Missing // it is not seen in a digest
	ref.Key = name
	return [][]byte{key}, nil
}
