-- AddQuota gives back at most cost_N of the events that count, the newest first. This part runs for
-- each rule. If nothing is consumed, it writes nothing.
--
-- returns: for each rule the instant of the state; the reply of the algorithm, as to a peek of one
--   event. At the end, the number of foreign values, unless it is 0
if left_N < capacity_N then
  local n, value, reset = cost_N, nil, nil
  <trim>
  <quota>
  <outlast>
  <save>
  <write>
  <left>
  if left_N < 1 then
    local leave = 1 - left_N
    <explain>
  end
end
