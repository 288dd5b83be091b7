-- Read the top keys of nodes.
--
-- KEYS[1] the hash of the top keys by node, as top_write.lua writes it
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] how many µs old the top keys may be
-- ARGV[3] and all after it: the names of nodes
-- returns: for each node its top keys, empty if there are none
local out = {}
for i = 3, #ARGV do
  local found = redis.call('HGET', KEYS[1], ARGV[i])
  local fresh = found and #found >= 7 and struct.unpack('>I7', found) + tonumber(ARGV[2]) >= now
  out[i - 2] = fresh and string.sub(found, 8) or ''
end
return out
