-- Announce records that a node is alive, with a text about its zones. It returns how many nodes are
-- alive, and the other texts.
--
-- The cost does not grow with the number of nodes: a text is stored once for all nodes that
-- announce it, with the name of the last. When that one changes its text, the old one is removed
-- until another node announces it again.
--
-- KEYS[1] the sorted set of the nodes' names, by the instant of their last announcement
-- KEYS[2] the hash of the texts: the instant of the last announcement, in 7 bytes, and its node
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] the name of the node
-- ARGV[3] its text; empty when it leaves
-- ARGV[4] its previous text; empty the first time
-- ARGV[5] after how many µs without an announcement a node expires
-- returns: how many nodes are alive, and for each other text its node and the text
local name, text, before, alive = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if before ~= text then
  local last = redis.call('HGET', KEYS[2], before)
  if last and string.sub(last, 8) == name then redis.call('HDEL', KEYS[2], before) end
end
if text == '' then
  redis.call('ZREM', KEYS[1], name)
  return {}
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), name)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - alive))
redis.call('HSET', KEYS[2], text, struct.pack('>I7', now) .. name)
keep(KEYS[1], now + alive)
keep(KEYS[2], now + alive)

local all, out = redis.call('HGETALL', KEYS[2]), {redis.call('ZCARD', KEYS[1])}
for i = 1, #all, 2 do
  if struct.unpack('>I7', all[i + 1]) + alive < now then
    redis.call('HDEL', KEYS[2], all[i])
  elseif all[i] ~= text then
    out[#out + 1] = string.sub(all[i + 1], 8)
    out[#out + 1] = all[i]
  end
end
return out
