-- The second part of a lease request, for each rule, after the first part of all: grants a lease.
-- When there is enough for every need, all needs are served; else none is, and nothing is granted.
-- From here on, more_N is the number of events served, and want_N that of events granted.
--
-- returns: for each rule the instant of the decision; the events served; the events granted; the
--   reply of the algorithm after that. At the end, the number of foreign values, unless it is 0
if allowed then
  more_N = cost_N + math.max(0, math.min(more_N, left_N - cost_N))
  want_N = math.max(0, math.min(want_N, math.floor((left_N - more_N) / struct.unpack('>I2', ARGV[7 * N + 2], 4))))
else
  more_N, want_N = 0, 0
end
if changed_N or more_N + want_N > 0 then
  local n, value, reset = more_N, nil, nil
  if changed_N or n > 0 then
    <trim>
  end
  if n > 0 then
    <consume>
  end
  if want_N > 0 then
    n = want_N
    <grant>
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
  <extend>
end
