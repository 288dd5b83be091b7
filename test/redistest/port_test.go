package redistest

import (
	"fmt"
	"net"
	"testing"
)

func TestFreePort(t *testing.T) {
	var held []int
	t.Run("inner", func(t *testing.T) {
		for range 20 {
			port := FreePort(t)
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Error(err)
				continue
			}
			_ = l.Close()
			if port < 20000 || port > 31999 {
				t.Errorf("port %d is not from 20000 to 31999", port)
			}
			held = append(held, port)
		}
	})
	seen := map[int]bool{}
	for _, port := range held {
		if seen[port] {
			t.Errorf("port %d was given out twice", port)
		}
		seen[port] = true
		if ports.held[port] {
			t.Errorf("port %d is held after its test", port)
		}
	}
}
