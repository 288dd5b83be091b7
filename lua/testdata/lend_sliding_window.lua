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
local p_1, q_1 = tonumber(ARGV[7 * 1]), tonumber(ARGV[7 * 1 + 1])
local counts_1, start_1, leased_1, length_1 = {}, 0, 0, p_1
for i = 1, q_1 + 1 do counts_1[i] = 0 end
if stored[2] then
  local head = #stored[2] >= 16 and struct.unpack('>I6', stored[2], 11) or 0
  local leases = head >= 2 ^ 47
  local width = (#stored[2] - (leases and 19 or 16)) / (q_1 + 1)
  if width >= 1 and width <= 5 and width % 1 == 0 and head % 2 ^ 47 > 0 then
    written_1, length_1 = struct.unpack('>I7', stored[2], 4), head % 2 ^ 47
    counts_1 = {struct.unpack('>' .. string.rep('I' .. width, q_1 + 1), stored[2], 17)}
    counts_1[q_1 + 2] = nil
    leased_1 = leases and written_1 + struct.unpack('>I3', stored[2], #stored[2] - 2) or 0
  end
end
if stored[2] and (written_1 == 0 or written_1 > now + STEP) then
  bad, stored[2], written_1 = bad + 1, '', 0
  leased_1, length_1 = 0, p_1
for i = 1, q_1 + 1 do counts_1[i] = 0 end
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
    do
  local back = now < written_1 - LATE
  at_1 = back and written_1 or math.max(now, written_1)
  start_1 = written_1 - written_1 % length_1
  local passed = (at_1 - at_1 % length_1 - start_1) / length_1
  if passed > 0 then
    for i = q_1 + 1, 1, -1 do counts_1[i] = counts_1[i - passed] or 0 end
  end
  start_1 = at_1 - at_1 % length_1
  if back or length_1 ~= p_1 then
    do
  local weighed, rest = muldiv(counts_1[q_1 + 1], length_1 - (at_1 - start_1), length_1)
  left_1 = capacity_1 - weighed - (rest > 0 and 1 or 0)
  for i = 1, q_1 do left_1 = left_1 - counts_1[i] end
end
    for i = 1, q_1 + 1 do counts_1[i] = 0 end
    counts_1[1], length_1, changed_1 = capacity_1 - left_1, p_1, true
    at_1 = back and now or at_1
    start_1 = at_1 - at_1 % p_1
  end
end
leased_1 = leased_1 > written_1 and math.min(leased_1, at_1 + LEASE) or 0
do
  local weighed, rest = muldiv(counts_1[q_1 + 1], length_1 - (at_1 - start_1), length_1)
  left_1 = capacity_1 - weighed - (rest > 0 and 1 or 0)
  for i = 1, q_1 do left_1 = left_1 - counts_1[i] end
end
    if lost then
      counts_1[1] = counts_1[1] + math.max(0, n - (capacity_1 - left_1))
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
        do
  local age = math.floor((start_1 - taken + p_1 - 1) / p_1) + 1
  if counts_1[age] then counts_1[age] = math.max(0, counts_1[age] - n) end
end
      end
    end
    local n, taken, lacked = struct.unpack('>I5I7I5', lease, 74)
    if n > 0 and taken >= (created or 0) then
      lacked = math.max(n, lacked)
      
      do
  local age = math.floor((start_1 - taken + p_1 - 1) / p_1) + 1
  if counts_1[age] then counts_1[age] = math.max(0, counts_1[age] - n) end
end
    end
  end
  do
  local weighed, rest = muldiv(counts_1[q_1 + 1], length_1 - (at_1 - start_1), length_1)
  left_1 = capacity_1 - weighed - (rest > 0 and 1 or 0)
  for i = 1, q_1 do left_1 = left_1 - counts_1[i] end
end
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
    counts_1[1] = counts_1[1] + n
  end
  
  want_1 = allowed and math.max(0, math.min(want_1,
    math.floor((left_1 - more_1) / struct.unpack('>I2', ARGV[7 * 1 + 2], 4)))) or 0
  if allowed or not enough then
    if want_1 > 0 then
    local n = want_1
    counts_1[1] = counts_1[1] + n
leased_1 = math.min(start_1 + p_1, at_1 + LEASE)
  end
  end
end
do
  local weighed, rest = muldiv(counts_1[q_1 + 1], length_1 - (at_1 - start_1), length_1)
  left_1 = capacity_1 - weighed - (rest > 0 and 1 or 0)
  for i = 1, q_1 do left_1 = left_1 - counts_1[i] end
end
if changed_1 or want_1 > 0 then
  local value, reset
  reset = 0
for i = q_1 + 1, 1, -1 do
  if counts_1[i] > 0 then reset = start_1 + (q_1 + 2 - i) * p_1 end
end
if reset > 0 or expires(stored[2]) * UNIT > now then
  local most, width, leases = math.max(unpack(counts_1)), 1, leased_1 > at_1
  while most >= 256 ^ width do width = width + 1 end
  value = struct.pack('>I3I7I6' .. string.rep('I' .. width, q_1 + 1), expiry(reset, stored[2]), at_1,
    length_1 + (leases and 2 ^ 47 or 0), unpack(counts_1))
  if leases then value = value .. struct.pack('>I3', leased_1 - at_1) end
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
  reset = 0
for i = q_1 + 1, 1, -1 do
  if counts_1[i] > 0 then reset = start_1 + (q_1 + 2 - i) * p_1 end
end
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
local reply = {at_1, more_1, want_1, start_1, counts_1, leased_1 > at_1 and leased_1 or 0}
if bad > 0 then reply[#reply + 1] = bad end
return reply
