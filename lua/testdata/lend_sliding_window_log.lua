local LATE = 1000000
local STEP = 86400000000
local UNIT = 256000000
local LAST = 16777215 * UNIT
local MOST = 1099511627775
local LEASE = 10000000
local now, longer = tonumber(ARGV[1]), 3600000
if not now then
  local time = redis.call('TIME')
  now, longer = time[1] * 1000000 + time[2], 0
end
local function expires(value)
  return value and #value >= 3 and struct.unpack('>I3', value) or 0
end
local function expiry(reset, value)
  return math.max(math.ceil(math.min(reset, LAST) / UNIT), expires(value))
end
local function keep(key, reset)
  local ms = math.ceil((math.min(reset, LAST) - now) / 1000) + longer
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, math.ceil(ms * 1.125)) end
end
local function muldiv(a, b, c)
  local product = a * b
  if product < 2 ^ 53 then
    local rest = product % c
    return (product - rest) / c, rest
  end
  local _, bits = math.frexp(c)
  local base = 2 ^ (52 - bits)
  local digits = {}
  while a > 0 do
    local digit = a % base
    digits[#digits + 1] = digit
    a = (a - digit) / base
  end
  local quotient, rest = 0, 0
  for i = #digits, 1, -1 do
    local dividend = rest * base + digits[i] * b
    rest = dividend % c
    quotient = quotient * base + (dividend - rest) / c
  end
  return quotient, rest
end
local FIRST = '(1125899906842624'
local function decimal(at)
  return string.format('%.0f', at)
end
local function upto(member)
  return #member >= 7 and struct.unpack('>I7', member) or 0
end
local last, added, stored = now, 0, redis.call('HMGET', KEYS[1], '@', ARGV[3])
local created, restarted, bad = nil, 0, 0
if stored[1] then
  created = (#stored[1] == 7 or #stored[1] == 8) and struct.unpack('>I7', stored[1]) or nil
  if not created or created > now + STEP then bad = 1 end
  if created and created > now + LATE then created = nil end
  if created and #stored[1] == 8 then restarted = created end
end
local cost_1, capacity_1, window_1 = tonumber(ARGV[7 * 1 - 3]), tonumber(ARGV[7 * 1 - 2]), tonumber(ARGV[7 * 1 - 1])
local written_1, at_1, left_1, changed_1 = 0, now, capacity_1, false
local used_1, newest_1, upto_1 = 0, 0, 0
local first_1, events_1, back_1 = 0, 0, 0
local ends_1, length_1, open_1, before_1 = 0, 0, 0, 0
do
  local entry = redis.call('ZRANGE', KEYS[2], '+inf', FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  if entry[1] and (#entry[1] ~= 7 or tonumber(entry[2]) > now + STEP) then
    redis.call('DEL', KEYS[2])
    bad = bad + 1
  elseif entry[1] then
    newest_1, upto_1 = tonumber(entry[2]), upto(entry[1])
    written_1 = newest_1
  end
  if stored[2] then written_1 = 0 end
  if stored[2] and (#stored[2] == 10 or #stored[2] == 30) then
    written_1 = struct.unpack('>I7', stored[2], 4)
    if #stored[2] == 30 then
      ends_1, length_1, open_1, before_1 = struct.unpack('>I7I3I5I5', stored[2], 11)
      if length_1 > LEASE or ends_1 > written_1 + 4 * LEASE then written_1 = 0 end
    end
  end
end
if stored[2] and (written_1 == 0 or written_1 > now + STEP) then
  bad, stored[2], written_1 = bad + 1, '', 0
  ends_1, length_1, open_1, before_1 = 0, 0, 0, 0
written_1 = newest_1
end
local allowed, incarnation = true, tonumber(ARGV[2])
local more_1, want_1 = struct.unpack('>I3xxI5', ARGV[7 * 1 + 2])
do
  local n, taken, lost = 0, 0, false
  if #ARGV[7 * 1 + 2] > 16 then
    local known
    n, taken, known = struct.unpack('>I5I7I7', ARGV[7 * 1 + 2], 17)
    lost = known ~= incarnation and known > 0 and incarnation > 0 and n > 0 and written_1 < taken
  end
  repeat
    local restored, now = lost, lost and math.max(taken, newest_1) or now
    do
  local seen = math.max(newest_1, written_1)
  at_1 = math.max(now, seen)
  if now < seen - LATE then
    at_1, back_1, changed_1 = now, seen - now, true
    ends_1 = now + length_1
  end
  if open_1 + before_1 > 0 and at_1 >= ends_1 then
    repeat
      if before_1 > 0 then
        newest_1, upto_1 = ends_1, (upto_1 + before_1) % 2 ^ 50
        redis.call('ZADD', KEYS[2], decimal(newest_1), struct.pack('>I7', upto_1))
        keep(KEYS[2], newest_1 + window_1)
      end
      ends_1, open_1, before_1 = ends_1 + length_1, 0, open_1
    until open_1 + before_1 == 0 or at_1 < ends_1
    local value, reset
    if used_1 > 0 then keep(KEYS[2], newest_1 + window_1) end
reset = (open_1 > 0 and ends_1 + length_1 or before_1 > 0 and ends_1 or math.max(written_1, newest_1)) + window_1
if open_1 + before_1 > 0 or written_1 ~= newest_1 and (newest_1 ~= 0 or stored[2]) then
  value = struct.pack('>I3I7', expiry(reset, stored[2]), written_1)
  if open_1 + before_1 > 0 then value = value .. (open_1 + before_1 > 0 and struct.pack('>I7I3I5I5', ends_1, length_1, open_1, before_1) or 0) end
end
    if value then
  added = added + redis.call('HSET', KEYS[1], ARGV[3], value)
  last = math.max(last, reset)
elseif stored[2] then
  redis.call('HDEL', KEYS[1], ARGV[3])
end
stored[2] = value
  end
  if newest_1 > 0 then
    local left = redis.call('ZRANGE', KEYS[2], decimal(at_1 + back_1 - window_1), FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
    used_1 = (upto_1 - (left[1] and upto(left[1]) or tonumber(redis.call('ZSCORE', KEYS[2], 'gone') or 0))) % 2 ^ 50
    if used_1 > MOST then
      redis.call('DEL', KEYS[2])
      bad, used_1, newest_1, upto_1, back_1 = bad + 1, 0, 0, 0, 0
    end
    newest_1 = newest_1 - back_1
  else
    back_1 = 0
  end
end
left_1 = capacity_1 - used_1 - open_1 - before_1
    if lost then
      n = n - (capacity_1 - left_1)
if n > 0 then
  if newest_1 ~= 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], FIRST, decimal(at_1 + back_1 - window_1))
  redis.call('ZADD', KEYS[2], decimal((upto_1 - used_1) % 2 ^ 50), 'gone')
  if back_1 > 0 then
    local moved = redis.call('ZRANGE', KEYS[2], FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
    for i = 1, #moved, 2 do redis.call('ZADD', KEYS[2], decimal(moved[i + 1] - back_1), moved[i]) end
    back_1 = 0
  end
end
  first_1, events_1 = newest_1, used_1
if newest_1 == at_1 and used_1 > 0 then redis.call('ZREM', KEYS[2], struct.pack('>I7', upto_1)) end
upto_1, used_1, newest_1 = (upto_1 + n) % 2 ^ 50, used_1 + n, at_1
redis.call('ZADD', KEYS[2], decimal(at_1), struct.pack('>I7', upto_1))
  first_1, events_1 = 0, 0
end
      written_1, changed_1, lost = at_1, true, false
    end
  until not restored
end
if #ARGV[7 * 1 + 2] > 35 then
  local lease = ARGV[7 * 1 + 2]
  local known = struct.unpack('>I7', lease, 29)
  changed_1 = true
  if known == incarnation and known > 0 then
    for at = 36, 55, 19 do
      local n, taken, spent, share = struct.unpack('>I5I7I5I2', lease, at)
      if taken >= (created or 0) then
        if taken >= ends_1 or taken < ends_1 - 2 * length_1 then
  n = 0
elseif taken < ends_1 - length_1 then
  n = math.min(n, before_1)
  before_1 = before_1 - n
else
  n = math.min(n, open_1)
  open_1 = open_1 - n
end
      end
    end
    local n, taken, lacked = struct.unpack('>I5I7I5', lease, 74)
    if n > 0 and taken >= restarted then
      lacked = math.max(n, lacked)
      if newest_1 ~= 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], FIRST, decimal(at_1 + back_1 - window_1))
  redis.call('ZADD', KEYS[2], decimal((upto_1 - used_1) % 2 ^ 50), 'gone')
  if back_1 > 0 then
    local moved = redis.call('ZRANGE', KEYS[2], FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
    for i = 1, #moved, 2 do redis.call('ZADD', KEYS[2], decimal(moved[i + 1] - back_1), moved[i]) end
    back_1 = 0
  end
end
      if taken > at_1 - window_1 then
  local from, gone = decimal(taken), (upto_1 - used_1) % 2 ^ 50
  local earlier = redis.call('ZRANGE', KEYS[2], '(' .. from, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  local entries, refunded = redis.call('ZRANGE', KEYS[2], from, '+inf', 'BYSCORE', 'WITHSCORES'), 0
  newest_1, upto_1 = tonumber(earlier[2] or at_1), earlier[1] and upto(earlier[1]) or gone
  local before = upto_1
  for i = 1, #entries, 2 do
    local number, noted = upto(entries[i]), tonumber(entries[i + 1])
    local events = (number - before) % 2 ^ 50
    before = number
    if noted <= taken + LATE then
      local part = math.min(events, n - refunded)
      refunded, events = refunded + part, events - part
    end
    redis.call('ZREM', KEYS[2], entries[i])
    if events > 0 then
      newest_1, upto_1 = noted, (number - refunded) % 2 ^ 50
      redis.call('ZADD', KEYS[2], decimal(noted), struct.pack('>I7', upto_1))
    end
  end
  used_1 = used_1 - refunded
end
    end
  end
  left_1 = capacity_1 - used_1 - open_1 - before_1
end
allowed = allowed and (cost_1 == 0 or cost_1 <= left_1)
do
  local enough = cost_1 <= left_1
  more_1 = allowed and cost_1 + math.max(0, math.min(more_1, left_1 - cost_1)) or 0
  if changed_1 or more_1 > 0 then
    if newest_1 ~= 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], FIRST, decimal(at_1 + back_1 - window_1))
  redis.call('ZADD', KEYS[2], decimal((upto_1 - used_1) % 2 ^ 50), 'gone')
  if back_1 > 0 then
    local moved = redis.call('ZRANGE', KEYS[2], FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
    for i = 1, #moved, 2 do redis.call('ZADD', KEYS[2], decimal(moved[i + 1] - back_1), moved[i]) end
    back_1 = 0
  end
end
    changed_1 = true
  end
  if more_1 > 0 then
    local n = more_1
    first_1, events_1 = newest_1, used_1
if newest_1 == at_1 and used_1 > 0 then redis.call('ZREM', KEYS[2], struct.pack('>I7', upto_1)) end
upto_1, used_1, newest_1 = (upto_1 + n) % 2 ^ 50, used_1 + n, at_1
redis.call('ZADD', KEYS[2], decimal(at_1), struct.pack('>I7', upto_1))
  end
  
  want_1 = allowed and math.max(0, math.min(want_1,
    math.floor((left_1 - more_1) / struct.unpack('>I2', ARGV[7 * 1 + 2], 4)))) or 0
  if allowed or not enough then
    if want_1 > 0 then
    local n = want_1
    do
  local slot = struct.unpack('>I4', ARGV[7 * 1 + 2], 11)
  if length_1 ~= slot or open_1 + before_1 == 0 then
    local till = at_1 - at_1 % slot + slot
    if open_1 + before_1 > 0 then till = math.max(at_1 + slot, ends_1 + length_1) end
    ends_1, length_1, open_1, before_1 = till, slot, 0, open_1 + before_1
  end
end
open_1 = open_1 + n
  end
  end
end
left_1 = capacity_1 - used_1 - open_1 - before_1
if changed_1 or want_1 > 0 then
  local value, reset
  written_1 = at_1
if used_1 == 0 and newest_1 ~= 0 then
  redis.call('DEL', KEYS[2])
  newest_1, stored[2] = 0, stored[2] or ''
end
if used_1 > 0 then keep(KEYS[2], newest_1 + window_1) end
reset = (open_1 > 0 and ends_1 + length_1 or before_1 > 0 and ends_1 or math.max(written_1, newest_1)) + window_1
if open_1 + before_1 > 0 or written_1 ~= newest_1 and (newest_1 ~= 0 or stored[2]) then
  value = struct.pack('>I3I7', expiry(reset, stored[2]), written_1)
  if open_1 + before_1 > 0 then value = value .. (open_1 + before_1 > 0 and struct.pack('>I7I3I5I5', ends_1, length_1, open_1, before_1) or 0) end
end
  if value then
  added = added + redis.call('HSET', KEYS[1], ARGV[3], value)
  last = math.max(last, reset)
elseif stored[2] then
  redis.call('HDEL', KEYS[1], ARGV[3])
end
stored[2] = value
end
if cost_1 <= capacity_1 and left_1 < math.max(1, cost_1)
    and (cost_1 == 0 or more_1 < cost_1 + (struct.unpack('>I3', ARGV[7 * 1 + 2]))) then
  local leave = math.max(1, cost_1) - left_1
  if leave <= used_1 then
  local gone = upto_1 - used_1
  local low, high = redis.call('ZCOUNT', KEYS[2], '-inf', decimal(at_1 + back_1 - window_1)), redis.call('ZCARD', KEYS[2]) - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if (upto(redis.call('ZRANGE', KEYS[2], middle, middle)[1]) - gone) % 2 ^ 50 >= leave then
      high = middle
    else
      low = middle + 1
    end
  end
  local member = redis.call('ZRANGE', KEYS[2], low, low, 'WITHSCORES')
  first_1, events_1 = tonumber(member[2]) - back_1, (upto(member[1]) - gone) % 2 ^ 50
end
end
if more_1 == 0 and not (want_1 > 0) and left_1 < math.max(1, cost_1) then
  do
  local reset
  if used_1 > 0 then keep(KEYS[2], newest_1 + window_1) end
reset = (open_1 > 0 and ends_1 + length_1 or before_1 > 0 and ends_1 or math.max(written_1, newest_1)) + window_1
  last = math.max(last, reset)
  if stored[2] and stored[2] ~= '' and reset > at_1 and expiry(reset) > expires(stored[2]) then
    redis.call('HSET', KEYS[1], ARGV[3], struct.pack('>I3', expiry(reset)) .. string.sub(stored[2], 4))
  end
end
end
if last > now then keep(KEYS[1], last) end
if added > 0 and redis.call('HLEN', KEYS[1]) > added then
  local some = redis.call('HRANDFIELD', KEYS[1], 2, 'WITHVALUES')
  for i = 1, #some, 2 do
    if some[i] ~= '@' and expires(some[i + 1]) * UNIT <= now then
      redis.call('HDEL', KEYS[1], some[i])
    end
  end
end
if not created and (added > 0 or stored[1]) then
  redis.call('HSET', KEYS[1], '@', struct.pack('>I7', now))
end
local reply = {at_1, more_1, want_1, used_1, newest_1, first_1, events_1, open_1 + before_1 > 0 and struct.pack('>I7I3I5I5', ends_1, length_1, open_1, before_1) or 0}
if bad > 0 then reply[#reply + 1] = bad end
return reply
