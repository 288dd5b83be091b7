-- The second part of a lease request, which grants a lease. It runs for each rule, after the first part
-- has run for all rules. If there is enough for every need, all needs are served. Otherwise no need is
-- served and nothing is granted, except that a bucket that denies its need grants a share of its
-- refill. From here on, more_N is the number of events served, and want_N that of events granted.
--
-- returns: for each rule the instant of the decision; the events served; what is granted; the reply
--   of the algorithm after that. At the end, the number of foreign values, unless it is 0
do
  local enough = cost_N <= left_N
  more_N = allowed and cost_N + math.max(0, math.min(more_N, left_N - cost_N)) or 0
  if changed_N or more_N > 0 then
    <trim>
    changed_N = true
  end
  if more_N > 0 then
    local n = more_N
    <consume>
  end
  <recall>
  want_N = allowed and math.max(0, math.min(want_N,
    math.floor((left_N - more_N) / struct.unpack('>I2', ARGV[7 * N + 2], 4)))) or 0
  if allowed or not enough then
    <lend>
  end
end
<left>
if changed_N or <granted> then
  local value, reset
  <save>
  <write>
end
if cost_N <= capacity_N and left_N < math.max(1, cost_N)
    and (cost_N == 0 or more_N < cost_N + (struct.unpack('>I3', ARGV[7 * N + 2]))) then
  local leave = math.max(1, cost_N) - left_N
  <explain>
end
if more_N == 0 and not (<granted>) and left_N < math.max(1, cost_N) then
  <extend>
end
