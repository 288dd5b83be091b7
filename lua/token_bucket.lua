-- The token bucket: what is missing from capacity_N events, which refill by p_N events every q_N
-- µs, and its open parts: see bucket_parts.lua and limiter/leasetest/lending_bucket.go.
--
-- value, 20 bytes: expiry 3; seconds of the instant of the newest write 4; its µs, 20 bits, and the
--   upper 12 bits of fraction 4; lower 32 bits of fraction 4; missing 5. The fraction is in 1/2^44 of
--   an event, whatever the rate: see keptOf in bucket_parts.lua. If there is more, a byte of flags
--   follows, and for each flag from the lowest on what it stands for. 1: the open parts. 2: parts have
--   shares. 4: overflow: see bucket_overflow.lua. 8: events are set aside or charged: the number of events
--   set aside 5; and 3 bytes with the lower 23 bits of the capacity under which they are, and above these
--   a bit that is set if events were charged. 16: something was given back: the number of units for which
--   the bucket lacks a sixteenth of its capacity, plus one 2. 32: the parts were recalled: µs since then 4.
--   The flags 4 and 32 are not beside 8. With a value of more than 64 bytes, Redis would make the hash a
--   table
-- reply: missing; fraction, as a numerator over q_N; the parts

---- read
local p_N, q_N, most_N = tonumber(ARGV[7 * N]), tonumber(ARGV[7 * N + 1]), nil
if not p_N then p_N = tonumber(string.match(ARGV[7 * N], '^%d+')) end -- p:µs, see reset
if not q_N then -- takes may wait: see limiter/waiting.go
  local q, most = string.match(ARGV[7 * N + 1], '^(%d+):(%d+)$')
  q_N, most_N = tonumber(q), tonumber(most)
end
local missing_N, fraction_N, aside_N, charged_N = 0, 0, 0, false -- see limiter/token_bucket.go
local parts_N, scarce_N, recalled_N = nil, 0, 0
do
  local length = VALUE and #VALUE or 0
  local flags = length > 20 and string.byte(VALUE, 21) or 0
  local size = 20 + (flags > 0 and 1 or 0) + (has(flags, 1) and 18 or 0) + (has(flags, 2) and 14 or 0)
    + (has(flags, 4) and WINDOWS or 0) + (has(flags, 8) and 8 or 0) + (has(flags, 16) and 2 or 0) + (has(flags, 32) and 4 or 0)
  if length == size and flags < 64 and (has(flags, 1) or not has(flags, 2) and not has(flags, 4)) then
    local seconds, mixed, low
    seconds, mixed, low, missing_N = struct.unpack('>I4I4I4I5', VALUE, 4)
    local high = mixed % 4096
    written_N = seconds * 1000000 + (mixed - high) / 4096
    if high + low > 0 then fraction_N = numeratorOf(high * 4294967296 + low, q_N) end
    local at = 22
    if has(flags, 1) then
      <read_parts>
    end
    if has(flags, 8) then
      local under
      aside_N, under = struct.unpack('>I5I3', VALUE, at)
      charged_N = under >= 8388608
      if under % 8388608 ~= capacity_N % 8388608 then
        missing_N, aside_N, charged_N = math.min(missing_N + aside_N, MOST), 0, false
      end
      at = at + 8
    end
    if has(flags, 16) then
      local noted = struct.unpack('>I2', VALUE, at)
      if noted > 0 then scarce_N = math.floor(written_N / NEAR) + 2 - noted end
      at = at + 2
    end
    if has(flags, 32) then recalled_N = written_N - struct.unpack('>I4', VALUE, at) end
  end
end

---- clear
missing_N, fraction_N, aside_N, charged_N, scarce_N = 0, 0, 0, false, 0
parts_N, recalled_N = nil, 0

---- empty
<advance>
missing_N, fraction_N, aside_N, charged_N, scarce_N, written_N = 0, 0, 0, false, 0, at_N -- nodes go on spending their parts
recalled_N = 0
if parts_N then parts_N.overflow = nil end

---- left
left_N = capacity_N - missing_N

---- consume
missing_N = missing_N + n

---- charged
charged_N = charged_N or missing_N > (most_N or 2 * capacity_N)

---- advance
do
  local most = most_N or 2 * capacity_N
  if missing_N <= most then
    charged_N = false
  elseif not charged_N then
    missing_N, aside_N = most, aside_N + missing_N - most
  end
  local from, till, ended = written_N, nil, nil
  at_N = math.max(now, from)
  if now < from - LATE then
    recalled_N = 0
    if parts_N then parts_N.ends, parts_N.overflow = parts_N.ends + now - from, nil end
    at_N, from, changed_N = now, now, true
  end
  repeat
    ended = parts_N and at_N >= parts_N.ends
    till = ended and parts_N.ends or at_N
    <refill>
    <near>
    from = till
    if ended then
      <rotate>
    end
  until not ended
end
<rearm>
<left>

---- near
-- Notes whether the bucket is near to being full at the instant till, not counting what its parts hold:
-- see limiter/token_bucket.go. A full bucket forgets since when it was not.
if missing_N == 0 then
  scarce_N = 0
elseif scarce_N ~= 0 then
  if missing_N - holds(parts_N, till, p_N, q_N) <= math.floor(capacity_N / 16) then
    scarce_N = math.floor(till / NEAR) + 1
  end
end

---- refill
-- Refills the bucket by the share that no part has, between the instants from and till in one slot.
do
  local elapsed = till - from
  if parts_N then elapsed = math.floor(elapsed * (SHARES - sharesOf(parts_N)) / SHARES) end
  local lacks, ahead = missing_N, fraction_N
  if missing_N + aside_N > 0 then
    local events
    <accrue>
    lacks, ahead = missing_N - math.min(events, 2 * MOST), fraction_N
    missing_N = missing_N - events
    if missing_N <= 0 then
      aside_N = math.max(0, aside_N + missing_N)
      missing_N, fraction_N = 0, 0
    end
  end
  <cut>
  <note_overflow>
end

---- accrue
-- Sets events to the number of events that accrue in elapsed µs, and fraction_N to the fraction of the
-- next one.
do
  local numerator
  events, numerator = given(elapsed, p_N, q_N)
  fraction_N = fraction_N + numerator
  if fraction_N >= q_N then events, fraction_N = events + 1, fraction_N - q_N end
end

---- lack
-- Makes the bucket lack n events less the fraction, as far as the parts leave room. If the bucket lacks
-- more than its capacity, what it gets back comes off the events that are set aside first.
do
  local back = missing_N > capacity_N and math.min(missing_N - n, aside_N) or 0
  missing_N, aside_N = n + back, aside_N - back
  if missing_N <= 0 then missing_N, fraction_N = 0, 0 end
  local till = at_N
  <cut>
  <near>
end

---- refund
-- Refunds the events that the bucket has lacked ever since taken. If the bucket was not near to being
-- full since, it gets back at least a sixteenth of its capacity, or all if that is less: see
-- tokenBucket.undo.
if taken <= at_N and not (<promised>) then
  local whole = scarce_N ~= 0 and taken >= scarce_N * NEAR and math.min(n, math.floor(capacity_N / 16)) or 0
  local before, left = fraction_N, missing_N - whole
  local events, fraction = given(at_N - taken, p_N, q_N)
  if lacked > n then
    if fraction > fraction_N then events = events + 1 end
    fraction = fraction_N
  end
  local most = lacked - events
  if most > n or most == n and fraction == 0 then
    n = missing_N - n
  elseif most <= 0 then
    n = missing_N
  else
    n, fraction_N = missing_N - most, fraction_N - fraction
    if fraction_N < 0 then n, fraction_N = n + 1, fraction_N + q_N end
  end
  if n > left then n, fraction_N = left, before end
  if scarce_N == 0 then scarce_N = math.floor(at_N / NEAR) + 1 end
  <lack>
end

---- allows
cost_N <= left_N or most_N and promises(tonumber(ARGV[7 * N + 2]), at_N, cost_N, missing_N, fraction_N, parts_N, p_N, q_N,
  capacity_N)

---- promised
most_N and missing_N > capacity_N

---- quota
do
  missing_N = math.max(0, missing_N - n)
  if missing_N == 0 then fraction_N = 0 end
  local till = at_N
  <cut>
  <near>
end

---- lasts
math.ceil(capacity_N * q_N / p_N)

---- restore
if n > missing_N then missing_N, fraction_N = n, 0 end

---- reset
-- A temporary limit also says for how many µs the bucket is kept at least: see Rule.KeepFor.
do
  local us = math.ceil(missing_N * q_N / p_N)
  if missing_N > 0 and not tonumber(ARGV[7 * N]) then us = math.max(us, tonumber(string.match(ARGV[7 * N], ':(%d+)$'))) end
  reset = math.max(at_N, parts_N and parts_N.ends + parts_N.next or 0) + us
end

---- save
<reset>
if missing_N + aside_N > 0 or parts_N or expires(VALUE) * UNIT > now then
  local fraction = fraction_N > 0 and keptOf(fraction_N, q_N) or 0
  local low, us = fraction % 4294967296, at_N % 1000000
  value = struct.pack('>I3I4I4I4I5', expiry(reset, VALUE), (at_N - us) / 1000000,
    us * 4096 + (fraction - low) / 4294967296, low, missing_N)
  local base, flags, special = value, 0, aside_N > 0 or charged_N
  value = ''
  if parts_N then
    flags = 1
    <save_parts>
  end
  if special then
    flags = flags + 8
    value = value .. struct.pack('>I5I3', aside_N, capacity_N % 8388608 + (charged_N and 8388608 or 0))
  end
  if scarce_N ~= 0 then
    flags = flags + 16
    value = value .. struct.pack('>I2', 1 + math.max(0, math.min(math.floor(at_N / NEAR) + 1 - scarce_N, 65534)))
  end
  if recalled_N > 0 and not special then
    flags = flags + 32
    value = value .. struct.pack('>I4', math.min(at_N - recalled_N, 4294967295))
  end
  value = flags > 0 and base .. string.char(flags) .. value or base
end

---- granted
want_N > 0 or parts_N and parts_N.lent

---- lent
want_N, parts_N and parts_N.lent or 0, <ample> and 1 or 0, recalled_N

---- reply
missing_N, fraction_N, parts_N and <parts> or 0
