-- The first part of a lease request, for each rule: restores lost writes and accepts returns, as
-- leasetest.Lend does. The cost is the request's need.
--
-- A failover may lose writes that the node has seen in another incarnation of the server. If the newest
-- write of this server is older than what the node has seen, the count is raised to what the node has
-- seen. If either incarnation is 0, which means unknown, nothing is restored and nothing is returned.
--
-- ARGV[2] is the incarnation of this server. The last argument of a rule is, with the bytes of each
-- part after it,
--   16 bytes: more 3; divisor 2, by which the events that are left are divided: that is the most granted
--             for want; want 5; length of a lease slot 4; share of the refill of a bucket 2
--   19 bytes, or none: seen 12; the node's incarnation of the server 7
--   55 bytes, or none: returns 19 and 19; cancel 12; what the bucket lacked then 5
--   31 bytes, or none: the number of the newest window of overflow 7; the events of the second return
--             that were spent in it and in each window before 2, 12 times
-- The events of an instant take 12 bytes: their number 5, the instant 7. A return takes 7 more: the
-- events spent 5, the share 2.
local more_N, want_N = struct.unpack('>I3xxI5', ARGV[7 * N + 2])
do
  local n, taken, lost = 0, 0, false
  if #ARGV[7 * N + 2] > 16 then
    local known
    n, taken, known = struct.unpack('>I5I7I7', ARGV[7 * N + 2], 17)
    lost = known ~= incarnation and known > 0 and incarnation > 0 and n > 0 and written_N < taken
  end
  repeat
    local restored, now = lost, lost and <since> or now
    <advance>
    if lost then
      <restore>
      written_N, changed_N, lost = at_N, true, false
    end
  until not restored
end
if #ARGV[7 * N + 2] > 35 then
  local lease = ARGV[7 * N + 2]
  local known = struct.unpack('>I7', lease, 29)
  changed_N = true
  if known == incarnation and known > 0 then
    for at = 36, 55, 19 do
      local n, taken, spent, share = struct.unpack('>I5I7I5I2', lease, at)
      if taken >= (created or 0) then
        <return>
      end
    end
    local n, taken, lacked = struct.unpack('>I5I7I5', lease, 74)
    if n > 0 and <valid> then
      lacked = math.max(n, lacked)
      <trim>
      <refund>
    end
  end
  <left>
end
allowed = allowed and (cost_N == 0 or cost_N <= left_N)
