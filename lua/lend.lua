-- Lend answers the loans as one: when there is what each of them needs, all are served; else nothing is. This is done for each of
-- them when that is known. From here on, more_N is how many events are served, and want_N how many are lent.
--
-- returns: for each rule the instant of the decision; how many events are served; how many are lent; and the reply of the
--          algorithm, as after that. At last, how many values were not ours, if any
if allowed then
  more_N = cost_N + math.max(0, math.min(more_N, left_N - cost_N))
  want_N = math.max(0, math.min(want_N, math.floor((left_N - more_N) / struct.unpack('>I2', ARGV[7 * N + 2], 4))))
else
  more_N, want_N = 0, 0
end
if changed_N or more_N + want_N > 0 then
  local n, value, reset = more_N, nil, nil
  if changed_N or n > 0 then
    <settle>
  end
  if n > 0 then
    <consume>
  end
  if want_N > 0 then
    n = want_N
    <lend>
  end
  <save>
  <write>
end
left_N = left_N - more_N - want_N
if (cost_N == 0 or more_N == 0) and cost_N <= capacity_N and left_N < math.max(1, cost_N) then
  local leave = math.max(1, cost_N) - left_N
  <explain>
end
if more_N + want_N == 0 and left_N < math.max(1, cost_N) then
  <hold>
end
