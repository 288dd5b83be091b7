-- The hash lives as long as what was written is of use. When fields were added, two are looked at and dropped if they have
-- expired: so a hash does not grow while rules come and go.
if last > now then
  keep(KEYS[1], last)
end
if added > 0 and redis.call('HLEN', KEYS[1]) > added then
  local some = redis.call('HRANDFIELD', KEYS[1], 2, 'WITHVALUES')
  for i = 1, #some, 2 do
    if some[i] ~= '@' and expires(some[i + 1]) * UNIT <= now then
      redis.call('HDEL', KEYS[1], some[i])
    end
  end
end
if not created and (added > 0 or stored[1]) then
  redis.call('HSET', KEYS[1], '@', struct.pack('>I7', now))
end
