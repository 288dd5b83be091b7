-- The refill of the token bucket, which open leases hold up: see token_bucket.lua.

---- advance
do
  if missing_N > 2 * capacity_N then
    missing_N, aside_N = 2 * capacity_N, aside_N + missing_N - 2 * capacity_N
  end
  local missing, part, before = missing_N, part_N, written_N
  at_N = math.max(now, before)
  if now < before - LATE then
    at_N, before, changed_N = now, now, true
    ends_N = now + length_N
  end
  local elapsed = at_N - before
  if open_N + before_N > 0 then
    while open_N + before_N > 0 and at_N >= ends_N do
      elapsed = ends_N - before
      <refill_held>
      before, elapsed = ends_N, at_N - ends_N
      <rotate>
    end
    <refill_held>
  elseif missing + aside_N > 0 then
    <refill>
  end
  if missing > 0 then
    missing_N, part_N = missing, part
  else
    missing_N, part_N = 0, 0
  end
end
<left>

---- refill
-- Refills missing and part for elapsed µs.
do
  local rest = elapsed % q_N
  local events = (elapsed - rest) / q_N * p_N -- inexact only if far above what is missing
  if events < missing + aside_N then
    local more, accrued = muldiv(p_N, rest, q_N)
    accrued = accrued + part
    if accrued >= q_N then more, accrued = more + 1, accrued - q_N end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_N + before_N == 0 then aside_N = math.max(0, aside_N + missing) end
end

---- refill_held
-- The same within a slot, in which open leases hold up a part of the refill.
do
  local least = math.min(missing, math.max(0, open_N + before_N - accrues_N))
  <refill>
  if missing <= least then missing, part = least, 0 end
end

---- refund
-- Refunds the events that the bucket has lacked ever since taken: see tokenBucket.undo.
do
  local least = math.min(missing_N, math.max(0, open_N + before_N - accrues_N))
  local before = missing_N
  if taken <= at_N then
    local rest = (at_N - taken) % q_N
    local events, part = muldiv(p_N, rest, q_N)
    if lacked > n then
      if part > part_N then events = events + 1 end
      part = part_N
    end
    local most = lacked - events - (at_N - taken - rest) / q_N * p_N -- inexact only if far below 0
    if most > n or most == n and part == 0 then
      missing_N = missing_N - n
    elseif most > 0 then
      missing_N, part_N = missing_N - most, part_N - part
      if part_N < 0 then missing_N, part_N = missing_N + 1, part_N + q_N end
    end
  end
  local back = before > capacity_N and math.min(before - missing_N, aside_N) or 0 -- as for a return
  missing_N, aside_N = missing_N + back, aside_N - back
  if missing_N <= least then missing_N, part_N = least, 0 end
end
