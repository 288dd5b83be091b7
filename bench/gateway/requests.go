//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
)

// requests are the bytes of requests, one after another, made before anything is measured.
type requests struct {
	text []byte
	ends []int
	next int
}

// take returns the next request; after the last comes the first.
func (r *requests) take() []byte {
	if r.next == len(r.ends) {
		r.next = 0
	}
	start := 0
	if r.next > 0 {
		start = r.ends[r.next-1]
	}
	end := r.ends[r.next]
	r.next++
	return r.text[start:end]
}

// distinct returns n requests, each with an API key and a tenant that no other has, in random order.
func distinct(n int) *requests {
	r := new(requests)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		r.add(fmt.Sprintf("sk_live_%024d", i), fmt.Sprintf("tenant-%08d", i))
	}
	return r
}

// same returns the request of one client.
func same() *requests {
	r := new(requests)
	r.add("sk_live_exhausted", "tenant-0")
	return r
}

func (r *requests) add(key, tenant string) {
	r.text = fmt.Appendf(r.text, "GET /v1/items HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: %s\r\nX-Tenant: %s\r\n\r\n",
		key, tenant)
	r.ends = append(r.ends, len(r.text))
}
