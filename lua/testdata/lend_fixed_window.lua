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
local ends_1, used_1, leased_1 = 0, 0, 0
if stored[2] and (#stored[2] == 19 or #stored[2] == 22) then
  local unit
  unit, ends_1, written_1, used_1 = struct.unpack('>I3I4I7I5', stored[2])
  ends_1 = (unit - 1) * UNIT + ends_1
  leased_1 = #stored[2] == 22 and written_1 + struct.unpack('>I3', stored[2], 20) or 0
end
if stored[2] and (written_1 == 0 or written_1 > now + STEP) then
  bad, stored[2], written_1 = bad + 1, '', 0
  ends_1, used_1, leased_1 = 0, 0, 0
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
    local restored, now = lost, lost and taken or now
    at_1 = math.max(now, written_1)
if now < written_1 - LATE then at_1, changed_1 = now, true end
if at_1 >= ends_1 then used_1 = 0 end
if ends_1 % window_1 ~= 0 or at_1 >= ends_1 or at_1 < ends_1 - window_1 then
  changed_1 = changed_1 or used_1 > 0
  ends_1 = at_1 - at_1 % window_1 + window_1
end
leased_1 = leased_1 > written_1 and math.min(leased_1, at_1 + LEASE) or 0
left_1 = capacity_1 - used_1
    if lost then
      used_1 = math.max(used_1, n)
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
        if taken >= ends_1 - window_1 and taken < ends_1 then used_1 = math.max(0, used_1 - n) end
      end
    end
    local n, taken, lacked = struct.unpack('>I5I7I5', lease, 74)
    if n > 0 and taken >= (created or 0) then
      lacked = math.max(n, lacked)
      
      if taken >= ends_1 - window_1 and taken < ends_1 then used_1 = math.max(0, used_1 - n) end
    end
  end
  left_1 = capacity_1 - used_1
end
allowed = allowed and (cost_1 == 0 or cost_1 <= left_1)
do
  local enough = cost_1 <= left_1
  more_1 = allowed and cost_1 + math.max(0, math.min(more_1, left_1 - cost_1)) or 0
  if changed_1 or more_1 > 0 then
    
    changed_1 = true
  end
  if more_1 > 0 then
    local n = more_1
    used_1 = used_1 + n
  end
  
  want_1 = allowed and math.max(0, math.min(want_1,
    math.floor((left_1 - more_1) / struct.unpack('>I2', ARGV[7 * 1 + 2], 4)))) or 0
  if allowed or not enough then
    if want_1 > 0 then
    local n = want_1
    used_1 = used_1 + n
leased_1 = math.min(ends_1, at_1 + LEASE)
  end
  end
end
left_1 = capacity_1 - used_1
if changed_1 or want_1 > 0 then
  local value, reset
  reset = ends_1
if used_1 > 0 or stored[2] and ends_1 > now then
  local unit = expiry(reset)
  value = struct.pack('>I3I4I7I5', unit, ends_1 - (unit - 1) * UNIT, at_1, used_1)
  if leased_1 > at_1 then value = value .. struct.pack('>I3', leased_1 - at_1) end
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
  
end
if more_1 == 0 and not (want_1 > 0) and left_1 < math.max(1, cost_1) then
  do
  local reset
  reset = used_1 > 0 and ends_1 or at_1
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
local reply = {at_1, more_1, want_1, ends_1, used_1, leased_1 > at_1 and leased_1 or 0}
if bad > 0 then reply[#reply + 1] = bad end
return reply
