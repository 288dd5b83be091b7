-- GiveBack gives back what a bucket has promised to a take for an instant, its last argument, if
-- nothing was promised since. This part runs for each rule.
--
-- returns: for each rule 1 if it was given back, else 0. At the end, the number of foreign values,
--   unless it is 0
local back_N = 0
if <promised> and tonumber(ARGV[7 * N + 2]) > at_N then
  local events = accruesIn(tonumber(ARGV[7 * N + 2]) - at_N, at_N, fraction_N, parts_N, p_N, q_N)
  if events >= missing_N - capacity_N then
    back_N, missing_N = 1, missing_N - cost_N
    local value, reset
    <save>
    <write>
  end
end
