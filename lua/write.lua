-- What was changed has been saved: value is what the hash is to hold for the rule N, and nothing when that is nothing; it is of use
-- until reset.
if value then
  added = added + redis.call('HSET', KEYS[1], FIELD, value)
  last = math.max(last, reset)
elseif VALUE then
  redis.call('HDEL', KEYS[1], FIELD)
end
VALUE = value
