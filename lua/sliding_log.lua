-- The sliding window log: every event of the last window_N µs, in the sorted set LOG, and what is lent, which is noted there
-- when it can be spent no more: see slots.lua and limiter/leasetest/lending_log.go.
--
-- An instant at which events were taken is a member of 7 bytes: how many there were up to and with it since some
-- beginning, modulo 2^50. Its score is the instant. The score of the member `gone` is that number for what has left the log:
-- it is below every instant, so `gone` is the first of the set. The events between any two members are a difference, and old
-- ones are dropped without being looked at.
--
-- value, 10 bytes: expiry 3; the instant of the newest write 7. It is there only while that is not the instant of the newest
--   member, as something was given back or is out. While anything is out, 20 more: the slots, as they are replied
-- reply: the events in the window, and the instant of the newest; an earlier instant with the number of events up to it, or
--   0 and 0: after a take the newest instant before it, on a denial the one at which enough events are gone; the slots

---- read
local used_N, newest_N, upto_N = 0, 0, 0
local first_N, events_N, back_N = 0, 0, 0 -- back: so far the clock was set back, and so is the log
local ends_N, length_N, open_N, before_N = 0, 0, 0, 0
do
  local entry = redis.call('ZRANGE', LOG, '+inf', FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  if entry[1] and (#entry[1] ~= 7 or tonumber(entry[2]) > now + STEP) then -- it is not ours
    redis.call('DEL', LOG)
    bad = bad + 1
  elseif entry[1] then
    newest_N, upto_N = tonumber(entry[2]), upto(entry[1])
    written_N = newest_N
  end
  if VALUE then
    written_N = 0
  end
  if VALUE and (#VALUE == 10 or #VALUE == 30) then
    local _
    _, written_N = struct.unpack('>I3I7', VALUE)
    if #VALUE == 30 then
      ends_N, length_N, open_N, before_N = struct.unpack('>I7I3I5I5', VALUE, 11)
      <sane>
    end
  end
end

---- void
ends_N, length_N, open_N, before_N = 0, 0, 0, 0
written_N = newest_N

---- advance
do
  local seen = math.max(newest_N, written_N)
  at_N = math.max(now, seen)
  if now < seen - LATE then
    at_N, back_N, changed_N = now, seen - now, true
    ends_N = now + length_N
  end
  if open_N + before_N > 0 and at_N >= ends_N then
    repeat
      if before_N > 0 then
        newest_N, upto_N = ends_N, (upto_N + before_N) % 2 ^ 50
        redis.call('ZADD', LOG, decimal(newest_N), struct.pack('>I7', upto_N))
        keep(LOG, newest_N + window_N)
      end
      <turn>
    until open_N + before_N == 0 or at_N < ends_N
    local value, reset
    <saved>
    <write>
  end
  if newest_N > 0 then
    local left = redis.call('ZRANGE', LOG, decimal(at_N + back_N - window_N), FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
    used_N = (upto_N - (left[1] and upto(left[1]) or tonumber(redis.call('ZSCORE', LOG, 'gone') or 0))) % 2 ^ 50
    if used_N > MOST then -- it is not ours
      redis.call('DEL', LOG)
      bad, used_N, newest_N, upto_N, back_N = bad + 1, 0, 0, 0, 0
    end
    newest_N = newest_N - back_N
  else
    back_N = 0 -- there is nothing to move
  end
end
<left>

---- left
left_N = capacity_N - used_N - open_N - before_N

---- explain
-- Finds the first member at which so many events are gone as have to leave. That may take what is lent, too.
if leave <= used_N then
  local gone = upto_N - used_N
  local low, high = redis.call('ZCOUNT', LOG, '-inf', decimal(at_N + back_N - window_N)), redis.call('ZCARD', LOG) - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if (upto(redis.call('ZRANGE', LOG, middle, middle)[1]) - gone) % 2 ^ 50 >= leave then
      high = middle
    else
      low = middle + 1
    end
  end
  local member = redis.call('ZRANGE', LOG, low, low, 'WITHSCORES')
  first_N, events_N = tonumber(member[2]) - back_N, (upto(member[1]) - gone) % 2 ^ 50
end

---- settle
if newest_N ~= 0 then -- let go of what has left the window, and move the rest when the clock was set back
  redis.call('ZREMRANGEBYSCORE', LOG, FIRST, decimal(at_N + back_N - window_N))
  redis.call('ZADD', LOG, decimal((upto_N - used_N) % 2 ^ 50), 'gone')
  if back_N > 0 then
    local moved = redis.call('ZRANGE', LOG, FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
    for i = 1, #moved, 2 do
      redis.call('ZADD', LOG, decimal(moved[i + 1] - back_N), moved[i])
    end
    back_N = 0
  end
end

---- consume
first_N, events_N = newest_N, used_N
if newest_N == at_N and used_N > 0 then
  redis.call('ZREM', LOG, struct.pack('>I7', upto_N))
end
upto_N, used_N, newest_N = (upto_N + n) % 2 ^ 50, used_N + n, at_N
redis.call('ZADD', LOG, decimal(at_N), struct.pack('>I7', upto_N))

---- lend
<begin>
open_N = open_N + n

---- ours
true

---- back
<return>

---- refund
-- The oldest events from taken on, up to LATE later: those of a late reading were noted as of the newest one. What stays in
-- the log leaves it no earlier. Nothing is given back for events that have left the window: what is in it is of others.
if taken > at_N - window_N then
  local from, gone = decimal(taken), (upto_N - used_N) % 2 ^ 50
  local earlier = redis.call('ZRANGE', LOG, '(' .. from, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  local entries, back = redis.call('ZRANGE', LOG, from, '+inf', 'BYSCORE', 'WITHSCORES'), 0
  newest_N, upto_N = at_N, gone
  if earlier[1] then
    newest_N, upto_N = tonumber(earlier[2]), upto(earlier[1])
  end
  local before = upto_N
  for i = 1, #entries, 2 do
    local number, noted = upto(entries[i]), tonumber(entries[i + 1])
    local events = (number - before) % 2 ^ 50
    before = number
    if noted <= taken + LATE then
      local give = math.min(events, n - back)
      back, events = back + give, events - give
    end
    redis.call('ZREM', LOG, entries[i])
    if events > 0 then
      newest_N, upto_N = noted, (number - back) % 2 ^ 50
      redis.call('ZADD', LOG, decimal(noted), struct.pack('>I7', upto_N))
    end
  end
  used_N = used_N - back
end

---- raise
n = n - (capacity_N - left_N)
if n > 0 then
  <settle>
  <consume>
  first_N, events_N = 0, 0 -- that may leave the window before the decision
end

---- until
if used_N > 0 then
  keep(LOG, newest_N + window_N)
end
reset = (open_N > 0 and ends_N + length_N or before_N > 0 and ends_N or math.max(written_N, newest_N)) + window_N

---- save
written_N = at_N
if used_N == 0 and newest_N ~= 0 then
  redis.call('DEL', LOG)
  newest_N, VALUE = 0, VALUE or '' -- the instant of this write is still to be known
end
<saved>

---- saved
<until>
if open_N + before_N > 0 or written_N ~= newest_N and (newest_N ~= 0 or VALUE) then
  value = struct.pack('>I3I7', expiry(reset, VALUE), written_N)
  if open_N + before_N > 0 then
    value = value .. (<slots>)
  end
end

---- reply
used_N, newest_N, first_N, events_N, <slots>
