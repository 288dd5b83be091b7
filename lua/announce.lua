-- Announce records that a node is alive, with a text about its zones. It returns how many nodes are
-- alive, what operators ask them for, and the other texts.
--
-- While all nodes have one text, the cost does not grow with their number: a text is stored once for
-- all nodes that announce it, with the name of the last. When that node changes its text, the old text
-- is removed until another node announces it again.
--
-- KEYS[1] the sorted set of the nodes' names, by the instant of their last announcement
-- KEYS[2] the hash of the texts: the instant of the last announcement, in 7 bytes, and its node
-- KEYS[3] the hash of the digests of the texts, by node
-- KEYS[4] the sorted set of the zones whose top keys are wanted, by the instant until which they are
--         wanted
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] the name of the node
-- ARGV[3] its text; empty when it leaves
-- ARGV[4] its previous text; empty the first time
-- ARGV[5] after how many µs without an announcement a node expires
-- returns: how many nodes are alive, the zones whose top keys are wanted, and for each other text its
-- node, the text, and how many nodes have it
local name, text, before, alive = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if before ~= text then
  local last = redis.call('HGET', KEYS[2], before)
  if last and string.sub(last, 8) == name then redis.call('HDEL', KEYS[2], before) end
end
if text == '' then
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[3], name)
  return {}
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), name)
local gone = redis.call('ZCOUNT', KEYS[1], '-inf', string.format('(%.0f', now - alive))
if gone > 0 then
  for _, other in ipairs(redis.call('ZRANGE', KEYS[1], 0, gone - 1)) do
    redis.call('ZREM', KEYS[1], other)
    redis.call('HDEL', KEYS[3], other)
  end
end
redis.call('HSET', KEYS[2], text, struct.pack('>I7', now) .. name)
if before ~= text or redis.call('HEXISTS', KEYS[3], name) == 0 then
  redis.call('HSET', KEYS[3], name, redis.sha1hex(text))
end
keep(KEYS[1], now + alive)
keep(KEYS[2], now + alive)
keep(KEYS[3], now + alive)

redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('(%.0f', now))
local out = {redis.call('ZCARD', KEYS[1]), redis.call('ZRANGE', KEYS[4], 0, -1)}
local all, nodes = redis.call('HGETALL', KEYS[2]), nil
for i = 1, #all, 2 do
  if struct.unpack('>I7', all[i + 1]) + alive < now then
    redis.call('HDEL', KEYS[2], all[i])
  elseif all[i] ~= text then
    if not nodes then
      nodes = {}
      local digests = redis.call('HGETALL', KEYS[3])
      for j = 2, #digests, 2 do nodes[digests[j]] = (nodes[digests[j]] or 0) + 1 end
    end
    out[#out + 1] = string.sub(all[i + 1], 8)
    out[#out + 1] = all[i]
    out[#out + 1] = nodes[redis.sha1hex(all[i])] or 1
  end
end
return out
