-- A denial writes nothing, but the count has to live until its own reset: under another limit that may be later than what the
-- last write said.
do
  local reset
  <until>
  last = math.max(last, reset)
  if VALUE and VALUE ~= '' and reset > at_N and expiry(reset) > expires(VALUE) then
    redis.call('HSET', KEYS[1], FIELD, struct.pack('>I3', expiry(reset)) .. string.sub(VALUE, 4))
  end
end
