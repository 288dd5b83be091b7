-- What was changed has been saved: value is what the hash is to hold for the rule N, and nothing when nothing is consumed. The log
-- has saved itself; it has a reset and no value.
if value then
  added = added + redis.call('HSET', KEYS[1], field_N, value)
  last = math.max(last, reset)
elseif not reset then
  redis.call('HDEL', KEYS[1], field_N)
end
