-- Announce says what a node is, and hears what the others are.
--
-- KEYS[1] the hash with a field for each node: when it was heard of last, in 7 bytes, and what it said
-- ARGV[1] the instant by the clock of a test, or nothing
-- ARGV[2] the name of the node
-- ARGV[3] what it says; nothing when it leaves
-- ARGV[4] after how many µs of silence a node is gone
-- returns: the name of each node that says something else, and what
local alive = tonumber(ARGV[4])
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[2])
  return {}
end
redis.call('HSET', KEYS[1], ARGV[2], struct.pack('>I7', now) .. ARGV[3])
keep(KEYS[1], now + alive)

local others, out = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #others, 2 do
  local heard = struct.unpack('>I7', others[i + 1])
  local says = string.sub(others[i + 1], 8)
  if heard + alive < now then
    redis.call('HDEL', KEYS[1], others[i])
  elseif says ~= ARGV[3] then
    out[#out + 1] = others[i]
    out[#out + 1] = says
  end
end
return out
