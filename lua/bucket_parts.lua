-- The open parts of the token bucket, summed by slots of time: see limiter/leasetest/parts.go.
--
-- parts_N is nil while no part is open. Otherwise it has ends, the end of the current slot, and
-- length, that of a slot in µs. shares, offset and events are the sums over the parts granted in the
-- current slot: of their shares of the refill, in 1/SHARES; of share * (grant - start of the slot),
-- in µs; and of their events at once. shares2, offset2 and events2 are those of the slot before.
--
-- value and reply, 35 bytes: end 7; length 4; shares 2, offset 5, events 5; the three of before

---- functions
-- The shares of a refill: limiter.Shares. The longest slot.
local SHARES, SLOT = 4096, 60000000

local function sharesOf(parts) return parts.shares + parts.shares2 end

-- accrual returns what accrues in a number of 1/SHARES µs, rounded up to µs: events, and a
-- numerator over q.
local function accrual(us, p, q)
  us = math.ceil(us / SHARES)
  local rest = us % q
  local events, numerator = muldiv(p, rest, q)
  return (us - rest) / q * p + events, numerator
end

-- held returns the most that nodes can hold unspent at an instant in the current slot.
local function held(parts, at, p, q)
  local since = at - parts.ends
  local events, numerator = accrual(parts.shares * (since + parts.length) - parts.offset +
    parts.shares2 * (since + 2 * parts.length) - parts.offset2, p, q)
  return parts.events + parts.events2 + events, numerator
end

---- read_parts
local t = {}
t.ends, t.length, t.shares, t.offset, t.events, t.shares2, t.offset2, t.events2 =
  struct.unpack('>I7I4I2I5I5I2I5I5', VALUE, 21)
if t.length > SLOT or t.length == 0 or t.ends > written_N + t.length or sharesOf(t) > SHARES then written_N = 0 end
parts_N = t

---- rotate
-- Makes the next slot the current one. The parts of the one before have ended.
do
  local t = parts_N
  t.shares2, t.offset2, t.events2 = t.shares, t.offset, t.events
  t.shares, t.offset, t.events = 0, 0, 0
  t.ends = t.ends + t.length
end
<close>

---- close
-- Forgets the slots when no part is open.
if sharesOf(parts_N) + parts_N.events + parts_N.events2 == 0 then parts_N = nil end

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

---- return
-- Closes a part that was granted at the instant taken, except for what its node keeps.
if parts_N and taken < parts_N.ends and taken >= parts_N.ends - 2 * parts_N.length then
  local t, start, known = parts_N, parts_N.ends - parts_N.length, true
  if taken >= start then
    local offset = share * (taken - start)
    known = share <= t.shares and n <= t.events and offset <= t.offset
    if known then
      t.shares, t.offset, t.events = t.shares - share, t.offset - offset, t.events - n
      if t.shares == 0 then t.offset = 0 end
    end
  else
    local offset = share * (taken - start + t.length)
    known = share <= t.shares2 and n <= t.events2 and offset <= t.offset2
    if known then
      t.shares2, t.offset2, t.events2 = t.shares2 - share, t.offset2 - offset, t.events2 - n
      if t.shares2 == 0 then t.offset2 = 0 end
    end
  end
  if known then
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
-- Grants want_N events at once, and as much of the share that is asked for as there is.
do
  local slot, share = struct.unpack('>I4I2', ARGV[7 * N + 2], 11)
  local t = parts_N
  if incarnation == 0 then slot = 0 end -- nothing could be returned
  if slot > 0 and not t then
    t = {ends = at_N - at_N % slot + slot, length = slot,
      shares = 0, offset = 0, events = 0, shares2 = 0, offset2 = 0, events2 = 0}
  end
  local room = 0
  if slot > 0 and t.length == slot then
    local most, ahead = accrual(2 * slot * sharesOf(t) - t.offset - t.offset2, p_N, q_N)
    room = math.floor(capacity_N / 2) - t.events - t.events2 - most - (ahead > 0 and 1 or 0)
  end
  want_N = math.min(want_N, room)
  if room >= 2 then
    local lasts = t.ends + slot - at_N
    local whole, rest = muldiv(q_N, (room - want_N) % p_N, p_N)
    whole = whole + math.floor((room - want_N) / p_N) * q_N -- µs in which the whole refill fills the room
    share = math.min(share, math.floor((SHARES - sharesOf(t)) / 2), math.floor(math.min(whole, lasts) * SHARES / lasts))
    local us = math.floor(share * lasts / SHARES)
    local n = muldiv(p_N, us % q_N, q_N) + (us - us % q_N) / q_N * p_N
    if missing_N >= capacity_N then -- others would wait for a share that does not soon accrue an event
      us = math.floor(share * 2000000 / SHARES)
      if muldiv(p_N, us % q_N, q_N) + (us - us % q_N) / q_N * p_N < 1 then n = 0 end
    end
    if want_N + n >= 2 then
      t.shares, t.offset, t.events = t.shares + share, t.offset + share * (at_N - t.ends + slot), t.events + want_N
      missing_N, parts_N, share_N = missing_N + want_N, t, share
    else
      want_N = 0
    end
  else
    want_N = 0
  end
end

---- parts
struct.pack('>I7I4I2I5I5I2I5I5', parts_N.ends, parts_N.length, parts_N.shares, parts_N.offset, parts_N.events,
  parts_N.shares2, parts_N.offset2, parts_N.events2)
