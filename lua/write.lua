-- What was changed has been saved: value is what the hash is to hold for the rule N. The log has saved itself; it has a reset and
-- no value. Nothing is kept when nothing is consumed.
if value then
  added = added + redis.call('HSET', KEYS[1], field_N, value)
  last = math.max(last, reset)
elseif not reset then
  redis.call('HDEL', KEYS[1], field_N)
end
