package redistest

import (
	"fmt"
	"os"
	"testing"
)

// victimEnv is set for a binary that is to be killed.
const victimEnv = "REDISTEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		awaitDeath()
	}
	Main(m)
}

// awaitDeath starts two servers, of which one is stopped, prints their addresses and never returns.
func awaitDeath() {
	servers, err := startServers(2, alone)
	if err == nil {
		err = servers[1].proc.stop()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, s := range servers {
		fmt.Println("started", s.Addr)
	}
	select {}
}
