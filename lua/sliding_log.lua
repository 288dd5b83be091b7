-- The sliding window log: the events of the last window_N µs, in the sorted set LOG, and its
-- leases: see lease_slots.lua, sliding_log_events.lua and limiter/leasetest/lending_log.go.
--
-- value, 10 bytes: expiry 3; instant of the newest write 7. While leases are open, 20 bytes more: the
--   slots. Without leases, there is a value only if that instant is not the one of the newest member
-- reply: the number of events in the window, and the instant of the newest; an earlier instant and the
--   number of events up to it, or 0 and 0; the slots. The earlier instant is that of the newest event
--   before the take, or for a denial that of the last event that has to leave before it succeeds

---- read
local used_N, newest_N, upto_N = 0, 0, 0
local first_N, events_N, back_N = 0, 0, 0 -- back_N: by how much the clock was set back, and the log is to be moved
local ends_N, length_N, open_N, before_N = 0, 0, 0, 0
do
  local entry = redis.call('ZRANGE', LOG, '+inf', FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  if entry[1] and (#entry[1] ~= 7 or tonumber(entry[2]) > now + STEP) then -- foreign
    redis.call('DEL', LOG)
    bad = bad + 1
  elseif entry[1] then
    newest_N, upto_N = tonumber(entry[2]), upto(entry[1])
    written_N = newest_N
  end
  if VALUE then written_N = 0 end
  if VALUE and (#VALUE == 10 or #VALUE == 30) then
    written_N = struct.unpack('>I7', VALUE, 4)
    if #VALUE == 30 then
      ends_N, length_N, open_N, before_N = struct.unpack('>I7I3I5I5', VALUE, 11)
      <check_slots>
    end
  end
end

---- clear
ends_N, length_N, open_N, before_N = 0, 0, 0, 0
written_N = newest_N

---- empty
written_N = math.max(written_N, newest_N)
newest_N, upto_N = 0, 0
ends_N, length_N, open_N, before_N = 0, 0, 0, 0
redis.call('DEL', LOG)

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
      <rotate>
    until open_N + before_N == 0 or at_N < ends_N
    local value, reset
    <save_value>
    <write>
  end
  if newest_N > 0 then
    local left = redis.call('ZRANGE', LOG, decimal(at_N + back_N - window_N), FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
    used_N = (upto_N - (left[1] and upto(left[1]) or tonumber(redis.call('ZSCORE', LOG, 'gone') or 0))) % 2 ^ 50
    if used_N > MOST then -- foreign
      redis.call('DEL', LOG)
      bad, used_N, newest_N, upto_N, back_N = bad + 1, 0, 0, 0, 0
    end
    newest_N = newest_N - back_N
  else
    back_N = 0 -- nothing to move
  end
end
<left>

---- since
math.max(taken, newest_N) -- leases that have expired since are in the log: nothing is entered before them

---- left
left_N = capacity_N - used_N - open_N - before_N

---- reset
if used_N > 0 then keep(LOG, newest_N + window_N) end
reset = (open_N > 0 and ends_N + length_N or before_N > 0 and ends_N or math.max(written_N, newest_N)) + window_N

---- save
written_N = at_N
if used_N == 0 and newest_N ~= 0 then
  redis.call('DEL', LOG)
  newest_N, VALUE = 0, VALUE or '' -- keeps the instant of this write
end
<save_value>

---- save_value
<reset>
if open_N + before_N > 0 or written_N ~= newest_N and (newest_N ~= 0 or VALUE) then
  value = struct.pack('>I3I7', expiry(reset, VALUE), written_N)
  if open_N + before_N > 0 then value = value .. (<slots>) end
end

---- reply
used_N, newest_N, first_N, events_N, <slots>
