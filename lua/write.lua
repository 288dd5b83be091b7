-- What an operation changed is written when it ends. The hash lives as long as that is of use. When fields were added, two are
-- looked at and dropped if they have expired: so a hash does not grow while rules come and go.
local last, added = now, 0
for i = 1, #asks do
  local ask = asks[i]
  if ask.changed then
    local value, reset = ask.algorithm.save(ask.state, ask)
    if value then
      added = added + redis.call('HSET', KEYS[1], ask.field, value)
      last = math.max(last, reset)
    elseif not reset then
      redis.call('HDEL', KEYS[1], ask.field)
    end
  end
end
if last > now then
  keep(KEYS[1], last)
end
if added > 0 and redis.call('HLEN', KEYS[1]) > added then
  local some = redis.call('HRANDFIELD', KEYS[1], 2, 'WITHVALUES')
  for i = 1, #some, 2 do
    if struct.unpack('>I3', some[i + 1]) * 256000000 <= now then
      redis.call('HDEL', KEYS[1], some[i])
    end
  end
end
return out
