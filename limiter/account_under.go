package limiter

// Under reports whether what the account knows is about the limit of r: that it was last taken or asked for under such a rule.
func (a *Account) Under(r *Rule) bool { return a.limit == r.limitID }
