-- GiveBack gives back the events that a bucket has promised to a take, if nothing was promised since and
-- the count was not reset since. This part runs for each rule. The last argument of a rule has two instants
-- of 7 bytes each: that of the turn, and that of the take.
--
-- returns: for each rule 1 if the events were given back, else 0. At the end, the number of foreign
--   values, unless it is 0
local back_N = 0
do
  local turn, taken = struct.unpack('>I7I7', ARGV[7 * N + 2])
  if <valid> and <promised> and turn > at_N then
    local events = accruesIn(turn - at_N, at_N, fraction_N, parts_N, p_N, q_N)
    if events >= missing_N - capacity_N then
      back_N, missing_N = 1, missing_N - cost_N
      local value, reset
      <save>
      <write>
    end
  end
end
