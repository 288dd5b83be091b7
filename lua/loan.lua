-- A loan, before all of a call are decided: what goes back and what is owed is dealt with, as limiter.Lend does. This is done for
-- each rule, and the cost is what the loan needs.
--
-- What the node has seen in another run of the server may be lost, as a failover loses the newest writes. It is restored when
-- the newest write that is left is older than what was seen: as of then, so far as less was used then. When the run is not
-- known here or there, which is 0, nothing is restored and nothing goes back.
--
-- ARGV[2] is the run of this server. The last of the seven of a rule is
--   13 bytes: more 3; which part of what is left may be lent for what is wanted, one in so many events 2; want 5; the length of a
--             slot 3
--   19 bytes, or nothing: seen 12; the run that the loan is of 7
--   58 bytes, or nothing: what goes back 12 and 12; what is to be undone 12; owed 7; paid 7; the node 8
-- Events of an instant take 12 bytes: how many 5, the instant 7.
--
-- The field of a rule with a node behind says how much of what the node ever owed has been debited: expiry 3; debited 7.
local more_N, want_N = struct.unpack('>I3xxI5', ARGV[7 * N + 2])
if #ARGV[7 * N + 2] > 13 then
  local n, taken, run = struct.unpack('>I5I7I7', ARGV[7 * N + 2], 14)
  if run ~= here and run > 0 and here > 0 and n > 0 and written_N < taken then
    local now = taken
    <advance>
    <raise>
    written_N, changed_N = at_N, true
  end
end
<advance>
if #ARGV[7 * N + 2] > 32 then
  local loan = ARGV[7 * N + 2]
  local seen, seen_at, run = struct.unpack('>I5I7I7', loan, 14)
  changed_N = true
  if run == here and run > 0 then
    for at = 33, 45, 12 do
      local n, taken = struct.unpack('>I5I7', loan, at)
      if taken >= (created or 0) then
        <back>
      end
    end
    local n, taken = struct.unpack('>I5I7', loan, 57)
    if n > 0 and <ours> then
      local lacked = seen_at == taken and math.max(n, seen) or n
      <settle>
      <refund>
    end
  end
  local owed, paid, node = struct.unpack('>I7I7c8', loan, 69)
  local debited = owed > paid and redis.call('HGET', KEYS[1], FIELD .. node)
  if debited and #debited ~= 10 then
    bad = bad + 1
  elseif debited then
    local _, total = struct.unpack('>I3I7', debited)
    paid = math.max(paid, total)
  end
  if owed > paid then
    -- A debt whose acknowledgement was lost is told again. Later than this it would be debited twice.
    local reset = at_N + math.max(2 * window_N, 60000000)
    added = added + redis.call('HSET', KEYS[1], FIELD .. node, struct.pack('>I3I7', expiry(reset), owed))
    last = math.max(last, reset)
    <left>
    local n = math.min(owed - paid, math.min(2 * capacity_N, MOST) - (capacity_N - left_N))
    if n > 0 then
      <settle>
      <consume>
    end
  end
  <left>
end
allowed = allowed and (cost_N == 0 or cost_N <= left_N)
