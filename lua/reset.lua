-- Reset gives a key its full limit again. This part runs for each rule.
--
-- A value without consumption stays for as long as anything of before could count. So nobody
-- restores what a node has seen before: the instant of the newest write is a later one. Events of
-- before are not returned or refunded, as the field `@` says that the counts began right after them.
-- For the other rules of the key, that means that leases which are out are not returned.
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
