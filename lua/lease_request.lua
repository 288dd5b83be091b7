-- The first part of a lease request, for each rule: restores lost writes, accepts returns and
-- settles debt, as limiter.Lend does. The cost is the request's need.
--
-- A failover may lose writes that the node has seen in another incarnation of the server. They are
-- restored when the newest write of this server is older than what was seen, up to the count of
-- that time. When either incarnation is 0, unknown, nothing is restored and nothing is returned.
--
-- ARGV[2] is the incarnation of this server. The last argument of a rule is
--   13 bytes: more 3; divisor 2, which divides what is left into what may be granted for want; want
--             5; length of a lease slot 3
--   19 bytes, or none: seen 12; the node's incarnation of the server 7
--   58 bytes, or none: returns 12 and 12; cancel 12; credit total 7; settled total 7; the node 8
-- Events of an instant take 12 bytes: the number 5, the instant 7.
--
-- The field of a rule followed by a node holds how much of the node's credit total is settled:
-- expiry 3; total 7.
local more_N, want_N = struct.unpack('>I3xxI5', ARGV[7 * N + 2])
if #ARGV[7 * N + 2] > 13 then
  local n, taken, known = struct.unpack('>I5I7I7', ARGV[7 * N + 2], 14)
  if known ~= incarnation and known > 0 and incarnation > 0 and n > 0 and written_N < taken then
    local now = taken
    <advance>
    <restore>
    written_N, changed_N = at_N, true
  end
end
<advance>
if #ARGV[7 * N + 2] > 32 then
  local lease = ARGV[7 * N + 2]
  local seen, seen_at, known = struct.unpack('>I5I7I7', lease, 14)
  changed_N = true
  if known == incarnation and known > 0 then
    for at = 33, 45, 12 do
      local n, taken = struct.unpack('>I5I7', lease, at)
      if taken >= (created or 0) then
        <return>
      end
    end
    local n, taken = struct.unpack('>I5I7', lease, 57)
    if n > 0 and <valid> then
      local lacked = seen_at == taken and math.max(n, seen) or n
      <trim>
      <refund>
    end
  end
  local credit, settled, node = struct.unpack('>I7I7c8', lease, 69)
  local entry = credit > settled and redis.call('HGET', KEYS[1], FIELD .. node)
  if entry and #entry ~= 10 then
    bad = bad + 1
  elseif entry then
    settled = math.max(settled, (struct.unpack('>I7', entry, 4)))
  end
  if credit > settled then
    -- A node repeats a debt whose answer was lost. After this instant it would be debited twice.
    local reset = at_N + math.max(2 * window_N, 60000000)
    added = added + redis.call('HSET', KEYS[1], FIELD .. node, struct.pack('>I3I7', expiry(reset), credit))
    last = math.max(last, reset)
    <left>
    local n = math.min(credit - settled, math.min(2 * capacity_N, MOST) - (capacity_N - left_N))
    if n > 0 then
      <trim>
      <consume>
    end
  end
  <left>
end
allowed = allowed and (cost_N == 0 or cost_N <= left_N)
