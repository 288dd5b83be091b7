-- Announce says that a node is alive and what it says, and hears how many are alive and what else is said.
--
-- What that costs does not grow with the number of nodes: what many of them say is there once, with the name of the one that
-- said it last. When that one says something else, it is gone until another one says it again.
--
-- KEYS[1] the sorted set of the names of the nodes, by the instant when each was heard of last
-- KEYS[2] the hash of what is said: when that was heard last, in 7 bytes, and by which node
-- ARGV[1] the instant by the clock of a test, or nothing
-- ARGV[2] the name of the node
-- ARGV[3] what it says; nothing when it leaves
-- ARGV[4] what it said the last time; nothing the first time
-- ARGV[5] after how many µs of silence a node is gone
-- returns: how many nodes are alive, and of everything else that is said by which node, and what
local name, says, before, alive = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if before ~= says then
  local last = redis.call('HGET', KEYS[2], before)
  if last and string.sub(last, 8) == name then
    redis.call('HDEL', KEYS[2], before)
  end
end
if says == '' then
  redis.call('ZREM', KEYS[1], name)
  return {}
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), name)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - alive))
redis.call('HSET', KEYS[2], says, struct.pack('>I7', now) .. name)
keep(KEYS[1], now + alive)
keep(KEYS[2], now + alive)

local all, out = redis.call('HGETALL', KEYS[2]), {redis.call('ZCARD', KEYS[1])}
for i = 1, #all, 2 do
  local heard = struct.unpack('>I7', all[i + 1])
  if heard + alive < now then
    redis.call('HDEL', KEYS[2], all[i])
  elseif all[i] ~= says then
    out[#out + 1] = string.sub(all[i + 1], 8)
    out[#out + 1] = all[i]
  end
end
return out
