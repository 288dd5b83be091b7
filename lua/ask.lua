-- What an operation is asked: several rules of one key. It is read before the operation begins.
--
-- KEYS[1]   the hash with the counts of the key
-- KEYS[2..] the sorted sets of its sliding window logs
-- ARGV[1]   the instant by the clock of a test, or nothing
-- ARGV[2]   what to do: `take`, `peek` or `refund`
-- ARGV[3..] eight for each rule: the field, the algorithm, the cost, the capacity, the window in µs, two numbers that the
--           algorithm explains, and for a refund the instant at which was taken
--
-- The fields of the hash are the four bytes of a rule's ID. Its values begin with their expiry, so that whoever writes next
-- to them can tell which are of no more use.

local asks, operation = {}, ARGV[2]
for i = 3, #ARGV, 8 do
  local ask = {
    field = ARGV[i],
    algorithm = algorithms[ARGV[i + 1]],
    cost = tonumber(ARGV[i + 2]),
    capacity = tonumber(ARGV[i + 3]),
    window = tonumber(ARGV[i + 4]),
    tonumber(ARGV[i + 5]),
    tonumber(ARGV[i + 6]),
    taken = tonumber(ARGV[i + 7]),
    changed = false, -- its state is to be written
  }
  ask.state = ask.algorithm.load(redis.call('HGET', KEYS[1], ask.field), ask)
  asks[#asks + 1] = ask
end
