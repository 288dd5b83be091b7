-- The token bucket: what is missing from capacity_N events, which refill by p_N events every q_N µs; and what is lent, on
-- account of which it does not refill: see slots.lua and limiter/leasetest/lending_bucket.go.
--
-- value, 20 bytes: expiry 3; at, which is the instant of the newest write, in seconds 4; (at's µs, 20 bits; upper 12 bits of
--   part) 4; lower 32 bits of part 4; missing 5. While anything is out, 20 more: the slots, as they are replied. While the
--   bucket lacks more than counts, 8 more: what is set aside 5, and the lower bits of the capacity under which it is 3
-- reply: missing, part, the slots

---- read
local p_N, q_N = tonumber(ARGV[7 * N]), tonumber(ARGV[7 * N + 1])
local missing_N, part_N, aside_N = 0, 0, 0 -- aside: see limiter/token_bucket.go
local ends_N, length_N, open_N, before_N = 0, 0, 0, 0
local accrues_N = 0 -- in a slot: so much of what is out does not hold up the refill
if VALUE and (#VALUE == 20 or #VALUE == 28 or #VALUE == 40 or #VALUE == 48) then
  local _, seconds, mixed, low
  _, seconds, mixed, low, missing_N = struct.unpack('>I3I4I4I4I5', VALUE)
  local high = mixed % 4096
  written_N = seconds * 1000000 + (mixed - high) / 4096
  part_N = math.min(high * 4294967296 + low, q_N - 1) -- another rate may have a smaller unit
  if #VALUE % 20 == 8 then
    local under
    aside_N, under = struct.unpack('>I5I3', VALUE, #VALUE - 7)
    if under ~= capacity_N % 8388608 then
      missing_N, aside_N = math.min(missing_N + aside_N, MOST), 0
    end
  end
  if #VALUE >= 40 then
    ends_N, length_N, open_N, before_N = struct.unpack('>I7I3I5I5', VALUE, 21)
    local rest = length_N % q_N
    accrues_N = (length_N - rest) / q_N * p_N + (muldiv(p_N, rest, q_N))
    <sane>
  end
end

---- void
missing_N, part_N, aside_N = 0, 0, 0
ends_N, length_N, open_N, before_N = 0, 0, 0, 0

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
      <held>
      before, elapsed = ends_N, at_N - ends_N
      <turn>
    end
    <held>
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
-- Lets missing and part be filled up for elapsed µs.
do
  local rest = elapsed % q_N
  local events = (elapsed - rest) / q_N * p_N -- not exact only where far more than is missing
  if events < missing + aside_N then
    local more, accrued = muldiv(p_N, rest, q_N)
    accrued = accrued + part
    if accrued >= q_N then
      more, accrued = more + 1, accrued - q_N
    end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_N + before_N == 0 then
    aside_N = math.max(0, aside_N + missing)
  end
end

---- held
-- The same, in a slot in which the bucket goes on lacking what is held up.
do
  local least = math.min(missing, math.max(0, open_N + before_N - accrues_N))
  <refill>
  if missing <= least then
    missing, part = least, 0
  end
end

---- left
left_N = capacity_N - missing_N

---- consume
missing_N = missing_N + n

---- lend
<begin>
missing_N, open_N = missing_N + n, open_N + n

---- back
<return>
missing_N = missing_N - n
if missing_N <= 0 then
  missing_N, part_N = 0, 0
end

---- refund
-- Gives back the events as far as the bucket has lacked them ever since: see tokenBucket.undo.
do
  local least = math.min(missing_N, math.max(0, open_N + before_N - accrues_N))
  if taken <= at_N then
    local rest = (at_N - taken) % q_N
    local events, part = muldiv(p_N, rest, q_N)
    if lacked > n then
      if part > part_N then
        events = events + 1
      end
      part = part_N
    end
    local most = lacked - events - (at_N - taken - rest) / q_N * p_N -- not exact only where it is far below zero
    if most > n or most == n and part == 0 then
      missing_N = missing_N - n
    elseif most > 0 then
      missing_N, part_N = missing_N - most, part_N - part
      if part_N < 0 then
        missing_N, part_N = missing_N + 1, part_N + q_N
      end
    end
  end
  if missing_N <= least then
    missing_N, part_N = least, 0
  end
end

---- raise
if n > missing_N then
  missing_N, part_N = n, 0
end

---- until
reset = math.max(at_N, open_N + before_N > 0 and ends_N + length_N or 0) + math.ceil(missing_N * q_N / p_N)

---- save
<until>
if missing_N + aside_N > 0 or open_N + before_N > 0 or expires(VALUE) * UNIT > now then
  local low, us, slots = part_N % 4294967296, at_N % 1000000, <slots>
  value = struct.pack('>I3I4I4I4I5', expiry(reset, VALUE), (at_N - us) / 1000000,
    us * 4096 + (part_N - low) / 4294967296, low, missing_N)
  if slots ~= 0 then
    value = value .. slots
  end
  if aside_N > 0 then
    value = value .. struct.pack('>I5I3', aside_N, capacity_N % 8388608)
  end
end

---- reply
missing_N, part_N, <slots>
