-- Take consumes the costs of all rules if each of them allows the take, and nothing otherwise. A peek
-- only decides. This part runs for each rule, after all rules have advanced. allows_N says whether the
-- rule N allows the take, and allowed whether all rules do. takes is false for a peek.
--
-- returns: for each rule 1 if it allows the take, else 0; 1 for its first denial in a window, else
--   0; the instant of the decision; the reply of the algorithm. At the end, the number of foreign
--   values, unless it is 0
if not allows_N and cost_N <= capacity_N then
  local leave = cost_N - left_N
  <explain>
end
local breach_N = 0
if takes and not allows_N then
  -- The field of a rule followed by `!` holds the instant until which a denial is not the first.
  local mark = redis.call('HGET', KEYS[1], FIELD .. '!')
  if mark and #mark ~= 10 then bad, mark = bad + 1, nil end
  local quiet = mark and struct.unpack('>I7', mark, 4) or 0
  if now >= quiet or quiet > now + window_N + LATE then -- the clock may have been set back
    breach_N, quiet = 1, math.min(now + window_N, LAST)
    added = added + redis.call('HSET', KEYS[1], FIELD .. '!', struct.pack('>I3I7', expiry(quiet), quiet))
    keep(KEYS[1], quiet)
  end
end
if takes and not allows_N and not changed_N then
  <extend>
end
if takes and (allowed or changed_N) then
  <trim>
  if allowed then
    local n = cost_N
    <consume>
  end
  local value, reset
  <save>
  <write>
end
