package stores

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// redisConfig returns the configuration that is in a JSON text.
func redisConfig(t *testing.T, text string) *config.Redis {
	t.Helper()
	c := new(config.Redis)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// authority writes the certificate of a new authority to a file. It returns the path of the file.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRedisResolve(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_HOST", "redis.example.com")
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "pa{ss")
	for _, tc := range []struct {
		name, config string
		prefix       string
		want         redisconn.Options
	}{
		{"defaults", `{"addresses": ["localhost:6379"]}`, "rl", redisconn.Options{
			Mode: redisconn.Standalone, Addresses: []string{"localhost:6379"}, Timeout: 50 * time.Millisecond,
		}},
		{"standalone", `{"mode": "standalone", "addresses": ["[::1]:6379"], "username": "fleet", "password": "secret", "db": 3,
			"key_prefix": "shop", "timeout": "20ms", "pool_size": 8}`, "shop", redisconn.Options{
			Mode: redisconn.Standalone, Addresses: []string{"[::1]:6379"}, Username: "fleet", Password: "secret", DB: 3,
			Timeout: 20 * time.Millisecond, PoolSize: 8,
		}},
		{"sentinel", `{"mode": "sentinel", "addresses": ["a:26379", "b:26379"], "master_name": "main", "password": "one",
			"sentinel_password": "two"}`, "rl", redisconn.Options{
			Mode: redisconn.Sentinel, Addresses: []string{"a:26379", "b:26379"}, MasterName: "main", Password: "one",
			SentinelPassword: "two", Timeout: 50 * time.Millisecond,
		}},
		{"cluster", `{"mode": "cluster", "addresses": ["a:6379", "b:6379"]}`, "rl", redisconn.Options{
			Mode: redisconn.Cluster, Addresses: []string{"a:6379", "b:6379"}, Timeout: 50 * time.Millisecond,
		}},
		{"placeholders", `{"addresses": ["{env.FLEETLIMIT_TEST_HOST}:6379"], "password": "{env.FLEETLIMIT_TEST_PASSWORD}",
			"key_prefix": "rl-{env.FLEETLIMIT_TEST_HOST}", "tls": {"server_name": "{env.FLEETLIMIT_TEST_HOST}"}}`,
			"rl-redis.example.com", redisconn.Options{
				Addresses: []string{"redis.example.com:6379"}, Password: "pa{ss", Timeout: 50 * time.Millisecond,
				TLS: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "redis.example.com"},
			}},
		{"braces", `{"addresses": ["localhost:6379"], "password": "a\\{b\\}c{"}`, "rl", redisconn.Options{
			Addresses: []string{"localhost:6379"}, Password: "a{b}c{", Timeout: 50 * time.Millisecond,
		}},
		{"tls", `{"addresses": ["localhost:6379"], "tls": {"insecure_skip_verify": true}}`, "rl", redisconn.Options{
			Addresses: []string{"localhost:6379"}, Timeout: 50 * time.Millisecond,
			TLS: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Resolve(redisConfig(t, tc.config), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.options, tc.want) {
				t.Errorf("options = %+v\nwant      %+v", got.options, tc.want)
			}
			if got.prefix != tc.prefix {
				t.Errorf("prefix = %q, want %q", got.prefix, tc.prefix)
			}
			if p := tc.want.Password; p != "" && (strings.Contains(got.name, p) || strings.Contains(got.digest, p)) {
				t.Errorf("the password is in the name %q or the digest %q", got.name, got.digest)
			}
		})
	}
}

func TestRedisAuthority(t *testing.T) {
	file := authority(t)
	c := &config.Redis{Addresses: []string{"localhost:6379"}, TLS: &config.RedisTLS{CA: file}}
	first, err := Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := x509.NewCertPool()
	want.AppendCertsFromPEM(text)
	if got := first.options.TLS.RootCAs; !got.Equal(want) {
		t.Errorf("authorities = %v, want the one in the file", got)
	}

	// A configuration that has moved in the Caddyfile keeps its client and the connections.
	c.Place = "Caddyfile:9"
	moved, err := Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if moved.digest != first.digest {
		t.Error("the digest is another at another place of the Caddyfile, want the same")
	}

	// A file with another certificate makes another client, although the configuration is the same.
	other, err := os.ReadFile(authority(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, other, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.digest == second.digest {
		t.Error("the digest is the same after the file has changed, want another")
	}
}

func TestRedisRefuses(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_BAD", "a b")
	noCertificate := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(noCertificate, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	const at = `"addresses": ["localhost:6379"]`
	for _, tc := range []struct{ name, config, place, remedy string }{
		{"nothing", `{}`, "address: ", "`address localhost:6379`"},
		{"mode", `{"mode": "clustered", ` + at + `}`, "mode: ", "use standalone, sentinel or cluster"},
		{"no port", `{"addresses": ["localhost"]}`, "address: ", "localhost:6379"},
		{"port 0", `{"addresses": ["localhost:0"]}`, "address: ", "from 1 to 65535"},
		{"no host", `{"addresses": [":6379"]}`, "address: ", "lacks a host"},
		{"empty address", `{"addresses": [""]}`, "address: ", "host:port"},
		{"url", `{"addresses": ["redis://:s3cret@localhost:6379"]}`, "address: ", "use host:port"},
		{"two addresses", `{"addresses": ["a:1", "b:2"]}`, "address: ", "`redis cluster`"},
		{"master_name", `{"master_name": "main", ` + at + `}`, "master_name: ", "no `master_name`"},
		{"no master_name", `{"mode": "sentinel", ` + at + `}`, "mode: ", "use `master_name`"},
		{"sentinel_password", `{"mode": "cluster", "sentinel_password": "s3cret", ` + at + `}`, "sentinel_password: ", "use `password`"},
		{"user", `{"username": "fleet", ` + at + `}`, "username: ", "use `password`"},
		{"db of cluster", `{"mode": "cluster", "db": 1, ` + at + `}`, "db: ", "use no `db`"},
		{"db", `{"db": -1, ` + at + `}`, "db: ", "0 or more"},
		{"key_prefix brace", `{"key_prefix": "a}", ` + at + `}`, "key_prefix: ", "use none of them"},
		{"key_prefix space", `{"key_prefix": "a b", ` + at + `}`, "key_prefix: ", "use none of them"},
		{"key_prefix line", `{"key_prefix": "a\nb", ` + at + `}`, "key_prefix: ", "use none of them"},
		{"key_prefix long", `{"key_prefix": "` + strings.Repeat("a", 65) + `", ` + at + `}`, "key_prefix: ", "up to 64"},
		{"key_prefix of environment", `{"key_prefix": "{env.FLEETLIMIT_TEST_BAD}", ` + at + `}`, "key_prefix: ", "use none of them"},
		{"timeout", `{"timeout": -1, ` + at + `}`, "timeout: ", "50ms"},
		{"pool_size", `{"pool_size": -1, ` + at + `}`, "pool_size: ", "1 to 1000"},
		{"no file", `{"tls": {"ca": "/nonexistent/ca.pem"}, ` + at + `}`, "tls: ca: ", "use a file"},
		{"no certificate", `{"tls": {"ca": "` + noCertificate + `"}, ` + at + `}`, "tls: ca: ", "BEGIN CERTIFICATE"},
		{"file for nothing", `{"tls": {"ca": "` + noCertificate + `", "insecure_skip_verify": true}, ` + at + `}`, "tls: ", "use one of the two"},
		{"no environment", `{"password": "{env.FLEETLIMIT_TEST_UNSET}", ` + at + `}`, "password: ", "{env.FLEETLIMIT_TEST_UNSET} is empty"},
		{"no environment for an address", `{"addresses": ["{env.FLEETLIMIT_TEST_UNSET}:6379"]}`, "address: ", "use one that has a value"},
		{"unknown placeholder", `{"password": "s3cret{s3cret}", ` + at + `}`, "password: ", "{env.REDIS_PASSWORD}"},
		{"unknown placeholder in the prefix", `{"key_prefix": "a{b}", ` + at + `}`, "key_prefix: ", "{env."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Resolve(redisConfig(t, tc.config), nil)
			if err == nil || !strings.HasPrefix(err.Error(), tc.place) || !strings.Contains(err.Error(), tc.remedy) {
				t.Fatalf("resolve = %v, want an error at %q that says %q", err, tc.place, tc.remedy)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}
