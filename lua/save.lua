-- What all operations write.

---- write
-- Writes value, which save has set, for the rule N, or removes the field if value is nil. The value is
-- of use until reset.
if value then
  added = added + redis.call('HSET', KEYS[1], FIELD, value)
  last = math.max(last, reset)
elseif VALUE then
  redis.call('HDEL', KEYS[1], FIELD)
end
VALUE = value

---- outlast
-- Makes the value stay for as long as anything that a node has seen before could count, even if
-- nothing is consumed.
VALUE, last = struct.pack('>I3', expiry(at_N + <lasts>, VALUE)), math.max(last, at_N + <lasts>)

---- extend
-- A denial writes no state, but the count has to live until its own reset. Under another limit that
-- may be later than the expiry of the last write.
do
  local reset
  <reset>
  last = math.max(last, reset)
  if VALUE and VALUE ~= '' and reset > at_N and expiry(reset) > expires(VALUE) then
    redis.call('HSET', KEYS[1], FIELD, struct.pack('>I3', expiry(reset)) .. string.sub(VALUE, 4))
  end
end

---- expire
-- The hash lives as long as its newest value. A script that adds fields also looks at two random fields
-- and removes them if they have expired, so that a hash does not grow while rules come and go.
if last > now then keep(KEYS[1], last) end
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
