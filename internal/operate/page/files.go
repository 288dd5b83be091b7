package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
)

//go:embed static report
var embedded embed.FS

// mediaTypes has the media types of files by the extensions of their names. Files with other
// extensions are not served.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
}

// A file is a file of the page as it is sent.
type file struct {
	mediaType   string
	etag        string
	plain, gzip []byte
}

// files has the files by their path. They are compressed at the first request for the page.
var files = sync.OnceValue(func() map[string]*file {
	all := make(map[string]*file)
	_ = fs.WalkDir(embedded, "static", func(name string, _ fs.DirEntry, _ error) error { // it cannot fail
		if mediaType := mediaTypes[path.Ext(name)]; mediaType != "" {
			text, _ := embedded.ReadFile(name)
			all[strings.TrimPrefix(name, "static/")] = newFile(mediaType, text)
		}
		return nil
	})
	return all
})

func newFile(mediaType string, text []byte) *file {
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	_, _ = w.Write(text) // memory does not fail
	_ = w.Close()
	hash := sha256.Sum256(text)
	return &file{
		mediaType: mediaType, etag: `"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`,
		plain: text, gzip: compressed.Bytes(),
	}
}

// policy is the Content-Security-Policy: the page has scripts and styles of its own alone, sends
// nothing to others, and stands in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serve answers with a file. Browsers keep it, and ask each time whether it is still the same.
func serve(w http.ResponseWriter, r *http.Request, name string) error {
	if err := onlyGet(w, r); err != nil {
		return err
	}
	f := files()[name]
	if f == nil {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: fmt.Errorf("the page has no file %q: use /rate_limit/", name)}
	}
	header := w.Header()
	header.Set("Content-Type", f.mediaType)
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "same-origin") // Caddy's admin endpoint needs the Referer
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Vary", "Accept-Encoding")
	header.Set("ETag", f.etag)
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = f.gzip
	}
	header.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // it fails if the client has left, which needs no error
	}
	return nil
}

// onlyGet refuses methods that change something.
func onlyGet(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	w.Header().Set("Allow", "GET, HEAD")
	return caddy.APIError{HTTPStatus: http.StatusMethodNotAllowed, Err: errors.New("this is read: use GET or HEAD")}
}
