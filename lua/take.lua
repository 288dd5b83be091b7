-- Take decides the asks as one: when each of them is allowed, all are consumed; when any is not, none is. A peek decides and
-- consumes nothing. This is done for each of them when it is known whether all are allowed.
--
-- returns: for each rule 1 when it allows the take, or 0; 1 when it denies and this is its first denial in a window, or 0; the
--          instant of the decision; and the reply of the algorithm. At last, how many values were not ours, if any
if not allows_N and cost_N <= capacity_N then
  local leave = cost_N - left_N
  <explain>
end
local breach_N = 0
if takes and not allows_N then
  -- The field of a rule with a `!` behind says until when a denial is no news.
  local mark = redis.call('HGET', KEYS[1], FIELD .. '!')
  if mark and #mark ~= 10 then
    bad, mark = bad + 1, nil
  end
  local quiet = mark and select(2, struct.unpack('>I3I7', mark)) or 0
  if now >= quiet or quiet > now + window_N + LATE then -- or it is from before the clock was set back
    breach_N, quiet = 1, math.min(now + window_N, LAST)
    added = added + redis.call('HSET', KEYS[1], FIELD .. '!', struct.pack('>I3I7', expiry(quiet), quiet))
    keep(KEYS[1], quiet)
  end
end
if takes and not allows_N and not changed_N then
  <hold>
end
if takes and (allowed or changed_N) then
  <settle>
  if allowed then
    local n = cost_N
    <consume>
  end
  local value, reset
  <save>
  <write>
end
