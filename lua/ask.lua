-- What an operation is asked: several rules of one key. This is read for each of them, N being its number, before the operation
-- begins.
--
-- KEYS[1]   the hash with the counts of the key
-- KEYS[2..] the sorted sets of its sliding window logs, LOG being that of the rule N
-- ARGV[1]   the instant by the clock of a test, or nothing
-- ARGV[2]   what to do: `take`, `peek` or `refund`; for loans, the run of this server: see loan.lua
-- ARGV[3..] seven for each rule: the field, FIELD being that of the rule N and VALUE its value; the cost; the capacity; the window in µs; two
--           numbers that the algorithm explains; and the rest of a refund or of a loan: see refund.lua and loan.lua
--
-- The fields of the hash are the four bytes of a rule's ID. Its values begin with their expiry, so that whoever writes next
-- to them can tell which are of no more use. A value without consumption is kept until the expiry that it had before: the
-- instant of its newest write, written_N, tells who has seen what was used before that this is no loss.
local cost_N, capacity_N, window_N = tonumber(ARGV[7 * N - 3]), tonumber(ARGV[7 * N - 2]), tonumber(ARGV[7 * N - 1])
local written_N, at_N, left_N, changed_N = 0, now, capacity_N, false
