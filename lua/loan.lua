-- A loan, before all of a call are decided: what goes back and what is owed is dealt with, as limiter.Lend does. This is done for
-- each rule, and the cost is what the loan needs.
--
-- ARGV[2] is the run of this server. The last of the seven of a rule is
--   13 bytes: more 3; which part of what is left may be lent for what is wanted, one in so many events 2; want 5; the length of a
--             slot 3
--   19 bytes, or nothing: seen 12; the run that the loan is of 7
--   58 bytes, or nothing: what goes back 12 and 12; what is to be undone 12; owed 7; paid 7; the node 8
-- Events of an instant take 12 bytes: how many 5, the instant 7.
--
-- The field of a rule with a node behind says how much of what the node ever owed has been debited: expiry 3; debited 7.
local more_N, want_N, slot_N = struct.unpack('>I3xxI5I3', ARGV[7 * N + 2])
if #ARGV[7 * N + 2] > 13 then
  local loan = ARGV[7 * N + 2]
  local seen, seen_at, run = struct.unpack('>I5I7I7', loan, 14)
  local same = run == tonumber(ARGV[2])
  if not same and seen > 0 then
    local n, taken = seen, seen_at
    changed_N = true
    <raise>
  end
  if #loan > 32 then
    changed_N = true
    if same then
      for at = 33, 45, 12 do
        local n, taken = struct.unpack('>I5I7', loan, at)
        <back>
      end
      local n, taken = struct.unpack('>I5I7', loan, 57)
      if n > 0 then
        local lacked = seen_at == taken and math.max(n, seen) or n
        <settle>
        <refund>
      end
    end
    local owed, paid, node = struct.unpack('>I7I7c8', loan, 69)
    local debited = owed > paid and redis.call('HGET', KEYS[1], FIELD .. node)
    if debited then
      local _, total = struct.unpack('>I3I7', debited)
      paid = math.max(paid, total)
    end
    if owed > paid then
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
  end
  <left>
end
allowed = allowed and (cost_N == 0 or cost_N <= left_N)
