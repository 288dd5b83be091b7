-- List the nodes that are alive, as announce.lua has recorded them.
--
-- KEYS[1] the sorted set of the nodes' names, by the instant of their last announcement
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] after how many µs without an announcement a node expires
-- returns: for each node its name, and how many ms ago it has announced itself
local all, out = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), {}
for i = 1, #all, 2 do
  local age = now - tonumber(all[i + 1])
  if age <= tonumber(ARGV[2]) then
    out[#out + 1] = all[i]
    out[#out + 1] = math.max(0, math.floor(age / 1000))
  end
end
return out
