package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
)

// writeLog writes a log of one day in the format of Caddy. It returns the size of the log in bytes.
func writeLog(name string, o options) (size int64, err error) {
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	keys := rand.NewZipf(rng, 1.1, 1, uint64(o.keys-1))
	at := 1_767_225_600.0
	for range o.lines {
		at += rng.ExpFloat64() * 86_400 / float64(o.lines)
		key := keys.Uint64()
		took := 0.05 * rng.ExpFloat64()
		n, err := fmt.Fprintf(w, line, at+took, key>>16&255, key>>8&255, key&255, key, took)
		if err != nil {
			_ = file.Close() // the first error counts
			return 0, err
		}
		size += int64(n)
	}
	if err := w.Flush(); err != nil {
		_ = file.Close() // the first error counts
		return 0, err
	}
	return size, file.Close()
}

// line is the format of a line of Caddy's access log. Its values are the instant at which the request
// ended, three bytes of its address, its key, and its duration.
const line = `{"level":"info","ts":%.6f,"logger":"http.log.access.log0","msg":"handled request","request":{` +
	`"remote_ip":"192.0.2.1","remote_port":"51234","client_ip":"10.%d.%d.%d","proto":"HTTP/2.0","method":"GET",` +
	`"host":"api.example.com","uri":"/v1/items/4711?page=2","headers":{"X-Api-Key":["key-%d"],` +
	`"User-Agent":["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"],` +
	`"Accept":["application/json"],"Accept-Encoding":["gzip, deflate, br"],"Accept-Language":["en-US,en;q=0.9"],` +
	`"Cookie":["REDACTED"],"X-Request-Id":["0b5e6d7a-7f0a-4b1e-9a5c-0c5a0c5a0c5a"]},"tls":{"resumed":false,"version":772,` +
	`"cipher_suite":4865,"proto":"h2","server_name":"api.example.com"}},"bytes_read":0,"user_id":"","duration":%.6f,` +
	`"size":1843,"status":200,"resp_headers":{"Server":["Caddy"],"Content-Type":["application/json"],` +
	`"Cache-Control":["no-store"],"X-Content-Type-Options":["nosniff"],"Strict-Transport-Security":["max-age=31536000"]}}` + "\n"
