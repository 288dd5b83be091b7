-- The open parts of the token bucket, summed by slots of time: see limiter/leasetest/parts.go.
--
-- parts_N is nil while no part is open. Otherwise it has ends, the end of the current slot; length, the
-- length of a short slot in µs; next, now and before, the lengths of the next slot, the current one and
-- the previous one; and two slots, current and previous. Each slot has the sums over the parts granted
-- in it: shares, their shares of the refill in 1/SHARES; accrues, their share * (end - grant), in µs; and
-- events, the events granted at once. lent is the share of a part that was granted just now.
--
-- value, 18 bytes: end, from the newest write on 4; length 4, with a bit for each slot that is long above
--   it, that for the next slot first; events of each slot 5. If parts have shares, 14 bytes more: for
--   each slot shares 2, accrues 5
-- reply, 35 bytes: end 7; length of the next slot 4; for each slot shares 2, accrues 5, events 5

---- functions
-- The number of shares of a refill: limiter.Shares. The longest time, in µs, that parts may make a take
-- wait for an event. The bit that says in a value that a slot is long. The unit, in µs, in which a bucket
-- notes since when it is not near to being full: limiter.nearUnit.
local SHARES, MAX_WAIT, IS_LONG, NEAR = 4096, 2000000, 268435456, 8192

-- longOf returns the length of a long slot while short slots have this length.
local function longOf(length) return math.min(9 * length, 120000000) end

-- has returns whether a bit of n is set.
local function has(n, bit) return n % (2 * bit) >= bit end

-- keptOf returns how the fraction numerator/q of an event is kept: in units of 1/2^44 of an event,
-- rounded down. q is at most 2^44. fmod is exact. The dividend may be rounded, which changes the
-- quotient by less than 2^-7, so that the nearest integer is exact.
local function keptOf(numerator, q)
  local product = numerator * 2 ^ 44
  return math.floor((product - math.fmod(product, q)) / q + 0.5)
end

-- numeratorOf returns the largest numerator over q that is kept as fraction or less: see
-- limiter/fraction.go. That is the largest n with n * 2^44 < (fraction + 1) * q. The n that the rounded
-- product gives is this number or one more.
local function numeratorOf(fraction, q)
  local n = math.floor((fraction + 1) * q / 2 ^ 44)
  return keptOf(n, q) <= fraction and n or n - 1
end

local function sharesOf(parts) return parts.current.shares + parts.previous.shares end

-- given returns what the rate gives in us µs: events, and a numerator over q. The result is inexact only
-- if it is far above what a bucket can lack.
local function given(us, p, q)
  local rest = us % q
  local events, numerator = muldiv(p, rest, q)
  return (us - rest) / q * p + events, numerator
end

-- held returns the most that nodes can hold unspent at an instant in the current slot: events, and a
-- numerator over q.
local function held(parts, at, p, q)
  local current, previous, ends = parts.current, parts.previous, parts.ends
  local us = current.accrues - current.shares * (ends + parts.next - at) + previous.accrues - previous.shares * (ends - at)
  local events, numerator = given(math.ceil(us / SHARES), p, q)
  return current.events + previous.events + events, numerator
end

-- holds returns held in whole events, rounded up.
local function holds(parts, at, p, q)
  if not parts then return 0 end
  local events, numerator = held(parts, at, p, q)
  return numerator > 0 and events + 1 or events
end

-- isHalfFull returns whether a bucket lacks at most half of its capacity beyond what its parts hold.
local function isHalfFull(missing, parts, at, p, q, capacity) return 2 * (missing - holds(parts, at, p, q)) <= capacity end

-- isAmple returns whether a bucket lends large parts at an instant: see limiter/leasetest/bucket_lend.go.
local function isAmple(recalled, aside, charged, missing, parts, at, p, q, capacity)
  return recalled == 0 and aside == 0 and not charged and isHalfFull(missing, parts, at, p, q, capacity)
end

-- most returns how many events nodes can hold when the parts end, rounded up.
local function most(parts, p, q)
  local events, numerator = given(math.ceil((parts.current.accrues + parts.previous.accrues) / SHARES), p, q)
  return parts.current.events + parts.previous.events + events + (numerator > 0 and 1 or 0)
end

-- largePart returns how many events an ample bucket grants that has left events besides those that its
-- parts hold. When they end, these may hold most events. lease is the lease request.
local function largePart(lease, left, held, most, capacity)
  local divisor, want = struct.unpack('>I2I5', lease, 4)
  local fair, room = math.floor(16 * (left + held) / (5 * divisor)), math.floor(capacity * math.max(40, math.min(80, divisor)) / 100) - most
  return math.max(0, math.min(want, math.max(fair, math.floor(room / 10)), room, left, math.floor(capacity / 8)))
end

-- newParts returns parts of which none is open, in slots of this length, the first of which begins at
-- the instant at.
local function newParts(at, short, length)
  return {ends = at + length, length = short, next = length, now = length, before = length,
    current = {shares = 0, accrues = 0, events = 0}, previous = {shares = 0, accrues = 0, events = 0}}
end

-- accruesIn returns how many whole events a bucket gets in the us µs after the instant at. At that
-- instant it has fraction/q of the next event. Its parts end at the end of their slots.
local function accruesIn(us, at, fraction, parts, p, q)
  local elapsed = us
  if parts then
    local now = math.min(us, parts.ends - at)
    local later = math.min(us - now, parts.next)
    elapsed = math.floor(now * (SHARES - sharesOf(parts)) / SHARES)
      + math.floor(later * (SHARES - parts.current.shares) / SHARES) + us - now - later
  end
  local events, numerator = given(elapsed, p, q)
  return fraction + numerator >= q and events + 1 or events
end

-- promises returns whether a take of cost events that may wait for wait µs can have a turn: the bucket
-- has enough by then, and beside what nodes can hold there is room for the cost.
local function promises(wait, at, cost, missing, fraction, parts, p, q, capacity)
  if wait == 0 or cost > capacity then return false end
  if parts and most(parts, p, q) + cost > capacity then return false end
  return missing + cost - capacity <= math.min(accruesIn(wait, at, fraction, parts, p, q), MOST - capacity)
end

<overflow_functions>

---- read_parts
parts_N = newParts(0, 1, 1)
do
  local ends, length, a, b = nil, nil, parts_N.current, parts_N.previous
  ends, length, a.events, b.events = struct.unpack('>I4I4I5I5', VALUE, at)
  parts_N.ends, parts_N.length = written_N + ends, length % IS_LONG
  local long = longOf(parts_N.length)
  parts_N.next = has(length, IS_LONG) and long or parts_N.length
  parts_N.now = has(length, 2 * IS_LONG) and long or parts_N.length
  parts_N.before = has(length, 4 * IS_LONG) and long or parts_N.length
  at = at + 18
  if has(flags, 2) then
    a.shares, a.accrues, b.shares, b.accrues = struct.unpack('>I2I5I2I5', VALUE, at)
    at = at + 14
  end
  if parts_N.length > 60000000 or unitOf(parts_N) < 1 or ends > parts_N.now or sharesOf(parts_N) > SHARES then
    written_N = 0
  elseif has(flags, 4) then
    <read_overflow>
    at = at + WINDOWS
  end
end

---- rotate
-- Makes the next slot the current one. The parts of the previous slot have ended.
parts_N.previous, parts_N.current = parts_N.current, {shares = 0, accrues = 0, events = 0}
parts_N.ends = parts_N.ends + parts_N.next
parts_N.now, parts_N.before, parts_N.next = parts_N.next, parts_N.now, parts_N.length
if isAmple(recalled_N, aside_N, charged_N, missing_N, parts_N, till, p_N, q_N, capacity_N) then
  parts_N.next = longOf(parts_N.length)
end
<close>

---- close
-- Forgets the slots when no part is open.
if sharesOf(parts_N) + parts_N.current.events + parts_N.previous.events == 0 then parts_N = nil end

---- cut
-- Makes sure that the level at the instant till is at most what the parts leave of the capacity.
if parts_N then
  local least, ahead = held(parts_N, till, p_N, q_N)
  if least >= 2 * capacity_N then
    least, ahead = 2 * capacity_N, 0 -- more than that never counts
  elseif ahead > 0 then
    least, ahead = least + 1, q_N - ahead
  end
  if missing_N < least or missing_N == least and fraction_N > ahead then
    missing_N, fraction_N = least, ahead
  end
end

---- ample
isAmple(recalled_N, aside_N, charged_N, missing_N, parts_N, at_N, p_N, q_N, capacity_N)

---- rearm
-- Allows a further recall when the bucket is half full and the last one was long ago: see
-- limiter/leasetest/bucket_lend.go.
if recalled_N > 0 and at_N - recalled_N >= math.max(500000, math.min(60000000, math.floor(math.ceil(capacity_N * q_N / p_N) / 4)))
    and isHalfFull(missing_N, parts_N, at_N, p_N, q_N, capacity_N) then
  recalled_N = 0
end

---- recall
-- Recalls the parts, if a take is denied or few events are left although the parts hold an eighth of the
-- capacity: nodes return what they hold when they are told so. The user may not be allowed to publish.
do
  local few = cost_N > 0 and more_N < cost_N + (struct.unpack('>I3', ARGV[7 * N + 2])) and left_N - more_N < cost_N
    or 10 * (left_N - more_N) < capacity_N
  if few and recalled_N == 0 and parts_N and aside_N == 0 and not charged_N and struct.unpack('>I4', ARGV[7 * N + 2], 11) > 0
      and 8 * holds(parts_N, at_N, p_N, q_N) >= capacity_N then
    recalled_N, changed_N = at_N, true
    redis.pcall('PUBLISH', string.match(KEYS[1], '^(.-):{') .. ':recall', FIELD .. struct.pack('>I7', at_N) .. KEYS[1])
  end
end

---- return
-- Closes a part that was granted at the instant taken, except for what its node keeps. The bucket gets
-- what the part has accrued and was not spent, and what it has overflowed since events were spent.
if parts_N and not (<promised>) and taken < parts_N.ends then
  local slot, ends, begins = parts_N.current, parts_N.ends + parts_N.next, parts_N.ends - parts_N.now
  if taken < begins then slot, ends, begins = parts_N.previous, parts_N.ends, begins - parts_N.before end
  local shares, accrues = slot.shares - share, slot.accrues - share * (ends - taken)
  if taken >= begins and shares >= 0 and n <= slot.events
      and accrues >= shares * (ends - at_N) and accrues <= shares * (ends - begins) then
    local elapsed, before, events = math.floor(share * (at_N - taken) / SHARES), fraction_N, nil
    if share == 0 and at == 55 and #lease > 90 and parts_N.overflow
        and parts_N.length == struct.unpack('>I4', lease, 11) then
      elapsed = payFor(parts_N, lease, spent, p_N, q_N)
    end
    slot.shares, slot.accrues, slot.events = shares, accrues, slot.events - n
    <close>
    <accrue>
    n = n + events - spent
    if n >= 0 then
      n = missing_N - n
      <lack>
    else
      fraction_N = before
    end
  end
end

---- lend
-- Grants want_N events at once and a share, or less of them, if there is room. A bucket that lacks more
-- than its capacity lends nothing. An ample bucket lends large parts without a share: see
-- limiter/leasetest/bucket_lend.go.
do
  local length, share = struct.unpack('>I4I2', ARGV[7 * N + 2], 11)
  local t, granted, ample = parts_N, 0, <ample>
  if length > 0 and not t then t = newParts(at_N, length, ample and longOf(length) or length) end
  -- Without an incarnation, the part could not be returned.
  if missing_N <= capacity_N and length > 0 and t.length == length and incarnation > 0 then
    local lasts, slot, held, n = t.ends + t.next - at_N, t.current, most(t, p_N, q_N), 0
    local room = math.floor(capacity_N / 2) - held
    if ample then
      share = 0
      if allowed then want_N = largePart(ARGV[7 * N + 2], capacity_N - missing_N, holds(parts_N, at_N, p_N, q_N), held, capacity_N) end
    elseif room < 2 then
      want_N, share = 0, 0
    else
      want_N = math.min(want_N, room)
      local whole = given(room - want_N, q_N, p_N) -- µs in which the whole refill fills the room
      -- The refill that no part has must give an event within MAX_WAIT.
      local free, unshared = SHARES - sharesOf(t), math.floor(SHARES * given(1, q_N, p_N) / MAX_WAIT) + 1
      share = math.max(0, math.min(share, math.floor(free / 2), free - unshared,
        math.floor(math.min(whole, lasts) * SHARES / lasts)))
      n = given(math.floor(share * lasts / SHARES), p_N, q_N)
    end
    -- An exhausted bucket lends no share that gives no event within MAX_WAIT: other nodes wait for it.
    if missing_N >= capacity_N and given(math.floor(share * MAX_WAIT / SHARES), p_N, q_N) < 1 then n = 0 end
    if want_N + n >= 2 then
      slot.shares, slot.events = slot.shares + share, slot.events + want_N
      slot.accrues = slot.accrues + share * lasts
      if share > 0 then t.overflow = nil end
      missing_N, parts_N, t.lent, granted = missing_N + want_N, t, share > 0 and share or nil, want_N
    end
  end
  want_N = granted
end

---- parts
struct.pack('>I7I4I2I5I5I2I5I5', parts_N.ends, parts_N.next, parts_N.current.shares, parts_N.current.accrues,
  parts_N.current.events, parts_N.previous.shares, parts_N.previous.accrues, parts_N.previous.events)

---- save_parts
value = value .. struct.pack('>I4I4I5I5', parts_N.ends - at_N, parts_N.length + (parts_N.next > parts_N.length and IS_LONG or 0)
  + (parts_N.now > parts_N.length and 2 * IS_LONG or 0) + (parts_N.before > parts_N.length and 4 * IS_LONG or 0),
  parts_N.current.events, parts_N.previous.events)
if sharesOf(parts_N) > 0 then
  flags = flags + 2
  value = value .. struct.pack('>I2I5I2I5', parts_N.current.shares, parts_N.current.accrues,
    parts_N.previous.shares, parts_N.previous.accrues)
elseif parts_N.overflow and not special then
  flags = flags + 4
  value = value .. <overflow>
end
