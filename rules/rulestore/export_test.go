package rulestore

// Keep changes how much s keeps.
func (s *Storage) Keep(versions, bytes int) { s.limits = limits{versions, bytes} }

// Keep changes how much r keeps.
func (r *Redis) Keep(versions, bytes int) { r.limits = limits{versions, bytes} }
