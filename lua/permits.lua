-- Permits answers a request of a node for permits: how many requests of a key it may have in flight.
--
-- The node states what it holds, which is recorded whatever others hold. So what a failover has lost
-- comes back with the next requests of the nodes. A request that a newer one has overtaken changes
-- nothing. A node that holds nothing has no record.
--
-- Nodes may hold more than the limit together, because a node has admitted requests while it got no
-- answer. Then the permits above the limit are not used again when requests end.
--
-- KEYS[1] the hash of a key and rule: the instant at which a node's lease ends, its sequence and its
--         permits, in 7, 7 and 5 bytes, by node
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] the node
-- ARGV[3] the sequence of the request
-- ARGV[4] the limit
-- ARGV[5] how many permits the node keeps
-- ARGV[6] how many more it needs. As many of these as are free are granted
-- ARGV[7] how many more it wants. At most a share of the permits free above the reserve is granted
-- ARGV[8] the reserve
-- ARGV[9] the divisor: the share is the permits divided by it
-- ARGV[10] for how many µs the lease lasts
-- returns: how many permits the node may use, and how many are free; nothing if a newer request has
--   overtaken this one
local node, sequence, hold = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local all, free, gone = redis.call('HGETALL', KEYS[1]), tonumber(ARGV[4]) - hold, {}
for i = 1, #all, 2 do
  local till, newest, permits = 0, 0, 0
  if #all[i + 1] == 19 then till, newest, permits = struct.unpack('>I7I7I5', all[i + 1]) end
  if all[i] == node then
    if newest >= sequence then return {} end
  elseif till <= now then
    gone[#gone + 1] = all[i]
  else
    free = free - permits
  end
end
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
local above = math.max(-free, 0)
local needed = math.min(math.max(free, 0), tonumber(ARGV[6]))
free = free - needed
local wanted = math.min(math.max(math.floor((free - tonumber(ARGV[8])) / tonumber(ARGV[9])), 0), tonumber(ARGV[7]))
local permits = hold + needed + wanted
if permits > 0 then
  redis.call('HSET', KEYS[1], node, struct.pack('>I7I7I5', now + tonumber(ARGV[10]), sequence, permits))
  keep(KEYS[1], now + tonumber(ARGV[10]))
else
  redis.call('HDEL', KEYS[1], node)
end
return {math.max(permits - above, 0), math.max(free - wanted, 0)}
