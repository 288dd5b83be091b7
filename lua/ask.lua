-- What an operation is asked: several rules of one key. This is read for each of them, N being its number, before the operation
-- begins.
--
-- KEYS[1]   the hash with the counts of the key
-- KEYS[2..] the sorted sets of its sliding window logs
-- ARGV[1]   the instant by the clock of a test, or nothing
-- ARGV[2]   what to do: `take`, `peek` or `refund`
-- ARGV[3..] seven for each rule: the field, the cost, the capacity, the window in µs, two numbers that the algorithm explains,
--           and for a refund the instant at which was taken
--
-- The fields of the hash are the four bytes of a rule's ID. Its values begin with their expiry, so that whoever writes next
-- to them can tell which are of no more use.
local field_N, cost_N, capacity_N = ARGV[7 * N - 4], tonumber(ARGV[7 * N - 3]), tonumber(ARGV[7 * N - 2])
local window_N, p_N, q_N = tonumber(ARGV[7 * N - 1]), tonumber(ARGV[7 * N]), tonumber(ARGV[7 * N + 1])
local at_N, left_N, changed_N = now, capacity_N, false
