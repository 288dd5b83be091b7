package redistest

// StartServer is NewServer for a program that is no test, such as a benchmark, and calls Close at the end. As there is no
// test to report to, such a server is not to be paused or killed.
func StartServer(options ...string) (*Server, error) { return startServer(alone, options...) }

// StartCluster is NewCluster for a program that is no test. The same holds for its servers.
func StartCluster(options ...string) (*Cluster, error) { return startCluster(options...) }

// Close ends the process and removes what it has written.
func (s *Server) Close() { s.end() }

// Close ends the processes and removes what they have written.
func (c *Cluster) Close() { c.end() }
