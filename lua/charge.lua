-- Charge consumes cost_N whatever the limit allows, as far as values have room. This part runs for
-- each rule.
do
  local n = math.max(0, math.min(cost_N, MOST - capacity_N + left_N))
  <trim>
  if n > 0 then
    <consume>
    <charged>
  end
  local value, reset
  <save>
  <write>
end
