-- Reset gives a key its full limit again. This part runs for each rule.
--
-- A value without consumption stays for as long as anything from before the reset could count. Its
-- instant of the newest write is later than what nodes have seen before, so nobody restores that.
-- Events from before are not returned or refunded, because the field `@` says that the counts began
-- after them. That field is for all rules of the key, so leases under other rules that are out are not
-- returned either.
<empty>
<advance>
do
  local value, reset
  <outlast>
  <save>
  <write>
  redis.call('HDEL', KEYS[1], FIELD .. '!')
  created = math.max(created or 0, math.min(at_N + 1, now + LATE))
  redis.call('HSET', KEYS[1], '@', struct.pack('>I7', created) .. '!')
end
