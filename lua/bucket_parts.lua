-- The open parts of the token bucket, summed by slots of time: see limiter/leasetest/parts.go.
--
-- parts_N is nil while no part is open. Otherwise it has ends, the end of the current slot; length,
-- the length of a slot in µs; and two slots, current and previous. Each slot has the sums over the
-- parts granted in it: shares, their shares of the refill in 1/SHARES; offset, their share * (grant -
-- start of the slot), in µs; and events, the events granted at once.
--
-- value and reply, 35 bytes: end 7; length 4; for each slot shares 2, offset 5, events 5

---- functions
-- The number of shares of a refill: limiter.Shares. The longest slot, in µs. The longest time, in µs,
-- that parts may make a take wait for an event.
local SHARES, SLOT, MAX_WAIT = 4096, 60000000, 2000000

-- The unit, in µs, in which a bucket notes since when it is not near to being full: limiter.nearUnit. If
-- it has only one byte for that, the unit is COARSE times as long: see
-- limiter/leasetest/lending_bucket.go.
local NEAR, COARSE = 8192, 256

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

-- held returns the most that nodes can hold unspent after passed µs of the current slot: events, and a
-- numerator over q.
local function held(parts, passed, p, q)
  local current, previous = parts.current, parts.previous
  local us = current.shares * passed - current.offset + previous.shares * (passed + parts.length) - previous.offset
  local events, numerator = given(math.ceil(us / SHARES), p, q)
  return current.events + previous.events + events, numerator
end

-- accruesIn returns how many whole events a bucket gets in the us µs after the instant at. At that
-- instant it has fraction/q of the next event. Its parts end at the end of their slots.
local function accruesIn(us, at, fraction, parts, p, q)
  local elapsed = us
  if parts then
    local now = math.min(us, parts.ends - at)
    local later = math.min(us - now, parts.length)
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
  if parts then
    local us = 2 * parts.length * sharesOf(parts) - parts.current.offset - parts.previous.offset
    local most, ahead = given(math.ceil(us / SHARES), p, q)
    if parts.current.events + parts.previous.events + most + (ahead > 0 and 1 or 0) + cost > capacity then return false end
  end
  return missing + cost - capacity <= math.min(accruesIn(wait, at, fraction, parts, p, q), MOST - capacity)
end

---- read_parts
local a, b, ends, length = {}, {}, nil, nil
ends, length, a.shares, a.offset, a.events, b.shares, b.offset, b.events =
  struct.unpack('>I7I4I2I5I5I2I5I5', VALUE, 21)
parts_N = {ends = ends, length = length, current = a, previous = b}
if length > SLOT or length == 0 or ends > written_N + length or sharesOf(parts_N) > SHARES then written_N = 0 end

---- rotate
-- Makes the next slot the current one. The parts of the previous slot have ended.
parts_N.previous, parts_N.current = parts_N.current, {shares = 0, offset = 0, events = 0}
parts_N.ends = parts_N.ends + parts_N.length
<close>

---- close
-- Forgets the slots when no part is open.
if sharesOf(parts_N) + parts_N.current.events + parts_N.previous.events == 0 then parts_N = nil end

---- cut
-- Makes sure that the level at the instant till is at most what the parts leave of the capacity.
if parts_N then
  local least, ahead = held(parts_N, till - parts_N.ends + parts_N.length, p_N, q_N)
  if least >= 2 * capacity_N then
    least, ahead = 2 * capacity_N, 0 -- more than that never counts
  elseif ahead > 0 then
    least, ahead = least + 1, q_N - ahead
  end
  if missing_N < least or missing_N == least and fraction_N > ahead then
    missing_N, fraction_N = least, ahead
  end
end

---- return
-- Closes a part that was granted at the instant taken, except for what its node keeps.
if parts_N and not (<promised>) and taken < parts_N.ends and taken >= parts_N.ends - 2 * parts_N.length then
  local slot, start = parts_N.current, parts_N.ends - parts_N.length
  if taken < start then slot, start = parts_N.previous, start - parts_N.length end
  local offset = share * (taken - start)
  local latest = (slot.shares - share) * (at_N - start) -- see parts.takeBack in limiter/leasetest/parts.go
  if share <= slot.shares and n <= slot.events and offset <= slot.offset and slot.offset - offset <= latest then
    slot.shares, slot.offset, slot.events = slot.shares - share, slot.offset - offset, slot.events - n
    if slot.shares == 0 then slot.offset = 0 end
    <close>
    local elapsed, before, events = math.floor(share * (at_N - taken) / SHARES), fraction_N, nil
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
-- Grants at most want_N events at once, and at most the share that is asked for, as far as there is
-- room. A bucket that lacks more than its capacity lends nothing.
do
  local length, share = struct.unpack('>I4I2', ARGV[7 * N + 2], 11)
  local t, room, granted = parts_N, 0, 0
  if length > 0 and not t then
    t = {ends = at_N - at_N % length + length, length = length,
      current = {shares = 0, offset = 0, events = 0}, previous = {shares = 0, offset = 0, events = 0}}
  end
  -- Without an incarnation, the part could not be returned.
  if missing_N <= capacity_N and length > 0 and t.length == length and incarnation > 0 then
    local us = 2 * length * sharesOf(t) - t.current.offset - t.previous.offset
    local most, ahead = given(math.ceil(us / SHARES), p_N, q_N)
    room = math.floor(capacity_N / 2) - t.current.events - t.previous.events - most - (ahead > 0 and 1 or 0)
  end
  if room >= 2 then
    local lasts, slot = t.ends + length - at_N, t.current
    want_N = math.min(want_N, room)
    local whole = given(room - want_N, q_N, p_N) -- µs in which the whole refill fills the room
    -- The refill that no part has must give an event within MAX_WAIT.
    local free, unshared = SHARES - sharesOf(t), math.floor(SHARES * given(1, q_N, p_N) / MAX_WAIT) + 1
    share = math.max(0, math.min(share, math.floor(free / 2), free - unshared,
      math.floor(math.min(whole, lasts) * SHARES / lasts)))
    local n = given(math.floor(share * lasts / SHARES), p_N, q_N)
    -- An exhausted bucket lends no share that gives no event within MAX_WAIT: other nodes wait for it.
    if missing_N >= capacity_N and given(math.floor(share * MAX_WAIT / SHARES), p_N, q_N) < 1 then n = 0 end
    if want_N + n >= 2 then
      slot.shares, slot.events = slot.shares + share, slot.events + want_N
      slot.offset = slot.offset + share * (at_N - t.ends + length)
      missing_N, parts_N, share_N, granted = missing_N + want_N, t, share, want_N
    end
  end
  want_N = granted
end

---- parts
struct.pack('>I7I4I2I5I5I2I5I5', parts_N.ends, parts_N.length, parts_N.current.shares, parts_N.current.offset,
  parts_N.current.events, parts_N.previous.shares, parts_N.previous.offset, parts_N.previous.events)
