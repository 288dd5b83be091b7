-- The arguments of all operations, which are about several rules of one key.
--
-- KEYS[1]    the hash with the counts of the key
-- KEYS[2..]  the sorted sets of its sliding window logs; LOG is that of the rule N
-- ARGV[1]    the instant by a test's clock, or empty
-- ARGV[2]    the operation; for lease requests, the incarnation of this server
-- ARGV[3..]  seven for each rule: the field, which is FIELD for the rule N; the cost; the capacity;
--            the window in µs; two arguments of the algorithm; and one of the operation: see
--            refund.lua and lease_request.lua
--
-- The fields of the hash are the four bytes of a rule's ID. VALUE is the value of FIELD. A value
-- begins with its expiry, so that writes of other fields can remove it after that. A value without
-- consumption is kept until its old expiry: its instant of the newest write shows that nothing was
-- lost.

---- key
-- The field `@` holds the instant at which the hash was created, in 7 bytes. After a reset it has 8
-- bytes, with the instant from which on events belong to the counts after the reset: see reset.lua.
-- Events from before the instant belong to earlier counts and are not returned. The field is written
-- anew when the clock has been set back.
local created, restarted, bad = nil, 0, 0
if stored[1] then
  created = (#stored[1] == 7 or #stored[1] == 8) and struct.unpack('>I7', stored[1]) or nil
  if not created or created > now + STEP then bad = 1 end
  if created and created > now + LATE then created = nil end
  if created and #stored[1] == 8 then restarted = created end
end

---- args
local cost_N, capacity_N, window_N = tonumber(ARGV[7 * N - 3]), tonumber(ARGV[7 * N - 2]), tonumber(ARGV[7 * N - 1])
local written_N, at_N, left_N, changed_N = 0, now, capacity_N, false

---- check
-- A value is foreign if it has an unknown length, for which read does not set written_N, or if it is
-- from too far in the future. It counts as absent and is counted in bad. The next write replaces it.
if VALUE and (written_N == 0 or written_N > now + STEP) then
  bad, VALUE, written_N = bad + 1, '', 0
  <clear>
end
