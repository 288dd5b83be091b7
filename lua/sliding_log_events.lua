-- The sorted set LOG of a sliding window log.
--
-- A member stands for the events of an instant, which is its score. It has 7 bytes: the number of
-- events up to and including it since some beginning, modulo 2^50. The score of the member `gone`
-- is this number for the events that have left the log. So the number of events between two members is
-- a difference, and old members are removed unread. Leased events are added when their lease expires.

---- functions
local FIRST = '(1125899906842624' -- 2^50: above the score of `gone`, below all instants

-- decimal returns an instant as Redis reads it, to the microsecond.
local function decimal(at)
  return string.format('%.0f', at)
end

-- upto returns the number in a member.
local function upto(member)
  return #member >= 7 and struct.unpack('>I7', member) or 0
end

---- explain
-- Finds the oldest member after which enough events have left. If leased events have to leave, too,
-- there is none.
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

---- trim
-- Removes what has left the window, and moves the rest when the clock was set back.
if newest_N ~= 0 then
  redis.call('ZREMRANGEBYSCORE', LOG, FIRST, decimal(at_N + back_N - window_N))
  redis.call('ZADD', LOG, decimal((upto_N - used_N) % 2 ^ 50), 'gone')
  if back_N > 0 then
    local moved = redis.call('ZRANGE', LOG, FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
    for i = 1, #moved, 2 do redis.call('ZADD', LOG, decimal(moved[i + 1] - back_N), moved[i]) end
    back_N = 0
  end
end

---- consume
first_N, events_N = newest_N, used_N
if newest_N == at_N and used_N > 0 then redis.call('ZREM', LOG, struct.pack('>I7', upto_N)) end
upto_N, used_N, newest_N = (upto_N + n) % 2 ^ 50, used_N + n, at_N
redis.call('ZADD', LOG, decimal(at_N), struct.pack('>I7', upto_N))

---- grant
<open_slot>
open_N = open_N + n

---- valid
taken >= restarted

---- return
<close>

---- refund
-- Removes the oldest events from taken on, up to LATE later: a late reading of the clock adds
-- events at the newest instant. What stays in the log leaves it no earlier. Events that have left
-- the window are not refunded, because those in it belong to other takes.
if taken > at_N - window_N then
  local from, gone = decimal(taken), (upto_N - used_N) % 2 ^ 50
  local earlier = redis.call('ZRANGE', LOG, '(' .. from, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  local entries, refunded = redis.call('ZRANGE', LOG, from, '+inf', 'BYSCORE', 'WITHSCORES'), 0
  newest_N, upto_N = tonumber(earlier[2] or at_N), earlier[1] and upto(earlier[1]) or gone
  local before = upto_N
  for i = 1, #entries, 2 do
    local number, noted = upto(entries[i]), tonumber(entries[i + 1])
    local events = (number - before) % 2 ^ 50
    before = number
    if noted <= taken + LATE then
      local part = math.min(events, n - refunded)
      refunded, events = refunded + part, events - part
    end
    redis.call('ZREM', LOG, entries[i])
    if events > 0 then
      newest_N, upto_N = noted, (number - refunded) % 2 ^ 50
      redis.call('ZADD', LOG, decimal(noted), struct.pack('>I7', upto_N))
    end
  end
  used_N = used_N - refunded
end

---- quota
-- Removes the newest events. The member of the last event that is left gets another number.
do
  local leave, gone = math.max(0, used_N - n), (upto_N - used_N) % 2 ^ 50
  if leave > 0 then
    <explain>
    redis.call('ZREMRANGEBYSCORE', LOG, decimal(first_N), '+inf')
    redis.call('ZADD', LOG, decimal(first_N), struct.pack('>I7', (gone + leave) % 2 ^ 50))
    newest_N = first_N
  end
  used_N, upto_N = leave, (gone + leave) % 2 ^ 50
  first_N, events_N = 0, 0
end

---- restore
n = n - (capacity_N - left_N)
if n > 0 then
  <trim>
  <consume>
  first_N, events_N = 0, 0 -- the restored instant may leave the window before the decision
end
