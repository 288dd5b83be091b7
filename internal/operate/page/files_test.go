package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// maxFirstView is how many bytes of files a browser gets when it has none yet.
const maxFirstView = 100_000

// referred matches the files that a file refers to.
var referred = regexp.MustCompile(`(?:from|href=|src=) ?"([./a-zA-Z/]+\.(?:css|m?js))"`)

// The first view is small, and complete: each file that one refers to is there.
func TestFirstView(t *testing.T) {
	sent, size := map[string]bool{}, 0
	var send func(name string)
	send = func(name string) {
		if sent[name] {
			return
		}
		sent[name] = true
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip, deflate, br")
		if err := serve(w, r, name); err != nil {
			t.Fatal(err)
		}
		for header, values := range w.Header() {
			size += len(header) + len(values[0]) + 4
		}
		size += w.Body.Len()
		for _, m := range referred.FindAllStringSubmatch(text(t, w), -1) {
			send(path.Join(path.Dir(strings.TrimPrefix(name, "index.html")), strings.TrimPrefix(m[1], "page/")))
		}
	}
	send("index.html")
	t.Logf("files = %d, bytes = %d", len(sent), size)
	if size > maxFirstView {
		t.Errorf("the first view has %d bytes, want at most %d", size, maxFirstView)
	}
	for name := range files() {
		if !sent[name] {
			t.Errorf("nothing refers to %s: delete it", name)
		}
	}
}

func text(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// A browser that has a file does not get it again.
func TestFileIsKept(t *testing.T) {
	w := httptest.NewRecorder()
	if err := serve(w, httptest.NewRequest(http.MethodGet, "/", nil), "style.css"); err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Content-Encoding") != "" || !strings.Contains(w.Body.String(), ":root") {
		t.Error("a client that knows no gzip does not get the plain text")
	}
	again, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	if err := serve(again, r, "style.css"); err != nil || again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("the answer to its ETag = %d, %v, want 304", again.Code, err)
	}
	if err := serve(httptest.NewRecorder(), r, "vendor/preact.LICENSE"); err == nil {
		t.Error("a file of another type is served")
	}
}

// idle is a process whose configuration limits nothing.
var idle = &adminapi.Process{
	Running:  func() *adminapi.Running { return nil },
	Starting: func() bool { return false },
}

func TestSiteRefuses(t *testing.T) {
	const json = "application/json"
	for _, c := range []struct {
		what, method, path, site, mode, mediaType string
		allowChanges                              bool
		want                                      int
	}{
		{"the page", "GET", "/rate_limit/", "none", "navigate", "", false, 200},
		{"a link of another site", "GET", "/rate_limit/", "cross-site", "navigate", "", false, 200},
		{"the page as a script of another site", "GET", "/rate_limit/", "cross-site", "no-cors", "", false, 403},
		{"a script of another site", "GET", "/rate_limit/page/app.js", "cross-site", "no-cors", "", false, 403},
		{"a file", "GET", "/rate_limit/page/app.js", "same-origin", "cors", "", false, 200},
		{"a site beside it", "GET", "/rate_limit/status", "same-site", "cors", "", true, 403},
		{"a read", "GET", "/rate_limit/status", "same-origin", "cors", "", false, 404},
		{"a client that is no browser", "GET", "/rate_limit/status", "", "", "", false, 404},
		{"a read by POST", "POST", "/rate_limit/zones/z/inspect", "same-origin", "cors", json, false, 404},
		{"a read by POST of another site", "POST", "/rate_limit/zones/z/inspect", "cross-site", "cors", json, false, 403},
		{"a change", "POST", "/rate_limit/overrides", "same-origin", "cors", json, false, 403},
		{"a change that is allowed", "DELETE", "/rate_limit/overrides/a", "same-origin", "cors", json, true, 404},
		{"a change of another site", "POST", "/rate_limit/overrides", "cross-site", "cors", json, true, 403},
		{"a change of nobody knows whom", "POST", "/rate_limit/overrides", "", "", json, true, 403},
		{"a change by a form", "POST", "/rate_limit/overrides", "same-origin", "navigate", "text/plain", true, 415},
		{"the tail of decisions", "GET", "/rate_limit/decisions", "same-origin", "cors", "", true, 404},
		{"a method that is none", "PUT", "/rate_limit/page/app.js", "same-origin", "cors", json, true, 405},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader("{}"))
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Content-Type": c.mediaType} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		New(idle).Site(c.allowChanges).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %s %s = %d %s, want %d", c.what, c.method, c.path, w.Code, w.Body, c.want)
		}
	}
}
