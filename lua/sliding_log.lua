-- The sliding window log: every event of the last window_N µs, in the sorted set KEYS[p_N].
--
-- An instant at which events were taken is a member of 7 bytes: how many there were up to and with it since some
-- beginning, modulo 2^50. Its score is the instant. The score of the member `gone` is that number for what has left the log:
-- it is below every instant, so `gone` is the first of the set. The events between any two members are a difference, and old
-- ones are dropped without being looked at.
--
-- reply: the events in the window, and the instant of the newest; an earlier instant with the number of events up to it, or
--   0 and 0: after a take the newest instant before it, on a denial the one at which enough events are gone

---- load
local used_N, newest_N, upto_N, gone_N, cutoff_N = 0, 0, 0, 0, '0'
local first_N, events_N, back_N = 0, 0, 0 -- back: so far the clock was set back, and so is the log
local last = redis.call('ZRANGE', KEYS[p_N], '+inf', FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
if last[1] then
  newest_N, upto_N = tonumber(last[2]), upto(last[1])
  if now < newest_N - LATE then
    back_N, changed_N = newest_N - now, true
  else
    at_N = math.max(now, newest_N)
  end
  cutoff_N = decimal(at_N + back_N - window_N)
  local left = redis.call('ZRANGE', KEYS[p_N], cutoff_N, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
  gone_N = left[1] and upto(left[1]) or tonumber(redis.call('ZSCORE', KEYS[p_N], 'gone') or 0)
  used_N = (upto_N - gone_N) % 2 ^ 50
  left_N = capacity_N - used_N
  newest_N = newest_N - back_N
end

---- explain
if not allows_N and cost_N <= capacity_N then -- find the first member at which enough is gone, by its rank
  local leave, low, high = cost_N - left_N, redis.call('ZCOUNT', KEYS[p_N], '-inf', cutoff_N), redis.call('ZCARD', KEYS[p_N]) - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if (upto(redis.call('ZRANGE', KEYS[p_N], middle, middle)[1]) - gone_N) % 2 ^ 50 >= leave then
      high = middle
    else
      low = middle + 1
    end
  end
  local member = redis.call('ZRANGE', KEYS[p_N], low, low, 'WITHSCORES')
  first_N, events_N = tonumber(member[2]) - back_N, (upto(member[1]) - gone_N) % 2 ^ 50
end

---- settle
if used_N > 0 or cutoff_N ~= '0' then -- let go of what has left the window, and move the rest when the clock was set back
  redis.call('ZREMRANGEBYSCORE', KEYS[p_N], FIRST, cutoff_N)
  redis.call('ZADD', KEYS[p_N], decimal(gone_N), 'gone')
  if back_N > 0 then
    local moved = redis.call('ZRANGE', KEYS[p_N], FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
    for i = 1, #moved, 2 do
      redis.call('ZADD', KEYS[p_N], decimal(moved[i + 1] - back_N), moved[i])
    end
  end
end

---- take
first_N, events_N = newest_N, used_N
if newest_N == at_N and used_N > 0 then
  redis.call('ZREM', KEYS[p_N], struct.pack('>I7', upto_N))
end
upto_N, used_N, newest_N = (upto_N + cost_N) % 2 ^ 50, used_N + cost_N, at_N
redis.call('ZADD', KEYS[p_N], decimal(at_N), struct.pack('>I7', upto_N))

---- refund
-- The oldest events from taken on, up to LATE later: those of a late reading were noted as of the newest one. What stays in
-- the log leaves it no earlier.
local from = decimal(taken_N)
local earlier = redis.call('ZRANGE', KEYS[p_N], '(' .. from, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
local entries = redis.call('ZRANGE', KEYS[p_N], from, '+inf', 'BYSCORE', 'WITHSCORES')
local before, back = earlier[1] and upto(earlier[1]) or gone_N, 0
for i = 1, #entries, 2 do
  local number, at = upto(entries[i]), tonumber(entries[i + 1])
  local events = (number - before) % 2 ^ 50
  before = number
  if at <= taken_N + LATE then
    local give = math.min(events, cost_N - back)
    back, events = back + give, events - give
  end
  redis.call('ZREM', KEYS[p_N], entries[i])
  if events > 0 then
    redis.call('ZADD', KEYS[p_N], decimal(at), struct.pack('>I7', (number - back) % 2 ^ 50))
  end
end
used_N = used_N - back

---- save
if used_N > 0 then
  reset = newest_N + window_N
  keep(KEYS[p_N], reset)
else
  reset = at_N
  redis.call('DEL', KEYS[p_N])
end

---- reply
used_N, newest_N, first_N, events_N
