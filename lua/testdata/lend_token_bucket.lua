local LATE = 1000000
local STEP = 86400000000
local UNIT = 256000000
local LAST = 16777215 * UNIT
local MOST = 1099511627775
local LEASE = 5000000
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
local function lengthOf(us)
  local mantissa, bits = math.frexp(us)
  return bits * 512 + math.floor((2 * mantissa - 1) * 512)
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
local missing_1, part_1, aside_1 = 0, 0, 0
local ends_1, length_1, open_1, before_1 = 0, 0, 0, 0
local accrues_1 = 0
if stored[2] and (#stored[2] == 20 or #stored[2] == 28 or #stored[2] == 40 or #stored[2] == 48) then
  local seconds, mixed, low
  seconds, mixed, low, missing_1 = struct.unpack('>I4I4I4I5', stored[2], 4)
  local high = mixed % 4096
  written_1 = seconds * 1000000 + (mixed - high) / 4096
  part_1 = math.min(high * 4294967296 + low, q_1 - 1)
  if #stored[2] % 20 == 8 then
    local under
    aside_1, under = struct.unpack('>I5I3', stored[2], #stored[2] - 7)
    if under ~= capacity_1 % 8388608 then
      missing_1, aside_1 = math.min(missing_1 + aside_1, MOST), 0
    end
  end
  if #stored[2] >= 40 then
    ends_1, length_1, open_1, before_1 = struct.unpack('>I7I3I5I5', stored[2], 21)
    local rest = length_1 % q_1
    accrues_1 = (length_1 - rest) / q_1 * p_1 + (muldiv(p_1, rest, q_1))
    if length_1 > LEASE or ends_1 > written_1 + 4 * LEASE then written_1 = 0 end
  end
end
if stored[2] and (written_1 == 0 or written_1 > now + STEP) then
  bad, stored[2], written_1 = bad + 1, '', 0
  missing_1, part_1, aside_1 = 0, 0, 0
ends_1, length_1, open_1, before_1 = 0, 0, 0, 0
end
local allowed, incarnation = true, tonumber(ARGV[2])
local more_1, want_1 = struct.unpack('>I3xxI5', ARGV[7 * 1 + 2])
if #ARGV[7 * 1 + 2] > 13 then
  local n, taken, known = struct.unpack('>I5I7I7', ARGV[7 * 1 + 2], 14)
  if known ~= incarnation and known > 0 and incarnation > 0 and n > 0 and written_1 < taken then
    local now = taken
    do
  if missing_1 > 2 * capacity_1 then
    missing_1, aside_1 = 2 * capacity_1, aside_1 + missing_1 - 2 * capacity_1
  end
  local missing, part, before = missing_1, part_1, written_1
  at_1 = math.max(now, before)
  if now < before - LATE then
    at_1, before, changed_1 = now, now, true
    ends_1 = now + length_1
  end
  local elapsed = at_1 - before
  if open_1 + before_1 > 0 then
    while open_1 + before_1 > 0 and at_1 >= ends_1 do
      elapsed = ends_1 - before
      do
  local least = math.min(missing, math.max(0, open_1 + before_1 - accrues_1))
  do
  local rest = elapsed % q_1
  local events = (elapsed - rest) / q_1 * p_1
  if events < missing + aside_1 then
    local more, accrued = muldiv(p_1, rest, q_1)
    accrued = accrued + part
    if accrued >= q_1 then more, accrued = more + 1, accrued - q_1 end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_1 + before_1 == 0 then aside_1 = math.max(0, aside_1 + missing) end
end
  if missing <= least then missing, part = least, 0 end
end
      before, elapsed = ends_1, at_1 - ends_1
      ends_1, open_1, before_1 = ends_1 + length_1, 0, open_1
    end
    do
  local least = math.min(missing, math.max(0, open_1 + before_1 - accrues_1))
  do
  local rest = elapsed % q_1
  local events = (elapsed - rest) / q_1 * p_1
  if events < missing + aside_1 then
    local more, accrued = muldiv(p_1, rest, q_1)
    accrued = accrued + part
    if accrued >= q_1 then more, accrued = more + 1, accrued - q_1 end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_1 + before_1 == 0 then aside_1 = math.max(0, aside_1 + missing) end
end
  if missing <= least then missing, part = least, 0 end
end
  elseif missing + aside_1 > 0 then
    do
  local rest = elapsed % q_1
  local events = (elapsed - rest) / q_1 * p_1
  if events < missing + aside_1 then
    local more, accrued = muldiv(p_1, rest, q_1)
    accrued = accrued + part
    if accrued >= q_1 then more, accrued = more + 1, accrued - q_1 end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_1 + before_1 == 0 then aside_1 = math.max(0, aside_1 + missing) end
end
  end
  if missing > 0 then
    missing_1, part_1 = missing, part
  else
    missing_1, part_1 = 0, 0
  end
end
left_1 = capacity_1 - missing_1
    if n > missing_1 then missing_1, part_1 = n, 0 end
    written_1, changed_1 = at_1, true
  end
end
do
  if missing_1 > 2 * capacity_1 then
    missing_1, aside_1 = 2 * capacity_1, aside_1 + missing_1 - 2 * capacity_1
  end
  local missing, part, before = missing_1, part_1, written_1
  at_1 = math.max(now, before)
  if now < before - LATE then
    at_1, before, changed_1 = now, now, true
    ends_1 = now + length_1
  end
  local elapsed = at_1 - before
  if open_1 + before_1 > 0 then
    while open_1 + before_1 > 0 and at_1 >= ends_1 do
      elapsed = ends_1 - before
      do
  local least = math.min(missing, math.max(0, open_1 + before_1 - accrues_1))
  do
  local rest = elapsed % q_1
  local events = (elapsed - rest) / q_1 * p_1
  if events < missing + aside_1 then
    local more, accrued = muldiv(p_1, rest, q_1)
    accrued = accrued + part
    if accrued >= q_1 then more, accrued = more + 1, accrued - q_1 end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_1 + before_1 == 0 then aside_1 = math.max(0, aside_1 + missing) end
end
  if missing <= least then missing, part = least, 0 end
end
      before, elapsed = ends_1, at_1 - ends_1
      ends_1, open_1, before_1 = ends_1 + length_1, 0, open_1
    end
    do
  local least = math.min(missing, math.max(0, open_1 + before_1 - accrues_1))
  do
  local rest = elapsed % q_1
  local events = (elapsed - rest) / q_1 * p_1
  if events < missing + aside_1 then
    local more, accrued = muldiv(p_1, rest, q_1)
    accrued = accrued + part
    if accrued >= q_1 then more, accrued = more + 1, accrued - q_1 end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_1 + before_1 == 0 then aside_1 = math.max(0, aside_1 + missing) end
end
  if missing <= least then missing, part = least, 0 end
end
  elseif missing + aside_1 > 0 then
    do
  local rest = elapsed % q_1
  local events = (elapsed - rest) / q_1 * p_1
  if events < missing + aside_1 then
    local more, accrued = muldiv(p_1, rest, q_1)
    accrued = accrued + part
    if accrued >= q_1 then more, accrued = more + 1, accrued - q_1 end
    events, part = events + more, accrued
  end
  missing = missing - events
  if missing < 0 and open_1 + before_1 == 0 then aside_1 = math.max(0, aside_1 + missing) end
end
  end
  if missing > 0 then
    missing_1, part_1 = missing, part
  else
    missing_1, part_1 = 0, 0
  end
end
left_1 = capacity_1 - missing_1
if #ARGV[7 * 1 + 2] > 32 then
  local lease = ARGV[7 * 1 + 2]
  local seen, seen_at, known = struct.unpack('>I5I7I7', lease, 14)
  changed_1 = true
  if known == incarnation and known > 0 then
    for at = 33, 45, 12 do
      local n, taken = struct.unpack('>I5I7', lease, at)
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
local back = missing_1 > capacity_1 and math.min(n, aside_1) or 0
missing_1, aside_1 = missing_1 - (n - back), aside_1 - back
if missing_1 <= 0 then missing_1, part_1 = 0, 0 end
      end
    end
    local n, taken = struct.unpack('>I5I7', lease, 57)
    if n > 0 and taken >= (created or 0) then
      local lacked = seen_at == taken and math.max(n, seen) or n
      
      do
  local least = math.min(missing_1, math.max(0, open_1 + before_1 - accrues_1))
  local before = missing_1
  if taken <= at_1 then
    local rest = (at_1 - taken) % q_1
    local events, part = muldiv(p_1, rest, q_1)
    if lacked > n then
      if part > part_1 then events = events + 1 end
      part = part_1
    end
    local most = lacked - events - (at_1 - taken - rest) / q_1 * p_1
    if most > n or most == n and part == 0 then
      missing_1 = missing_1 - n
    elseif most > 0 then
      missing_1, part_1 = missing_1 - most, part_1 - part
      if part_1 < 0 then missing_1, part_1 = missing_1 + 1, part_1 + q_1 end
    end
  end
  local back = before > capacity_1 and math.min(before - missing_1, aside_1) or 0
  missing_1, aside_1 = missing_1 + back, aside_1 - back
  if missing_1 <= least then missing_1, part_1 = least, 0 end
end
    end
  end
  local credit, settled, node = struct.unpack('>I7I7c8', lease, 69)
  local entry = credit > settled and redis.call('HGET', KEYS[1], ARGV[3] .. node)
  if entry and #entry ~= 10 then
    bad = bad + 1
  elseif entry then
    settled = math.max(settled, (struct.unpack('>I7', entry, 4)))
  end
  if credit > settled then
    local reset = at_1 + math.max(2 * window_1, 60000000)
    added = added + redis.call('HSET', KEYS[1], ARGV[3] .. node, struct.pack('>I3I7', expiry(reset), credit))
    last = math.max(last, reset)
    left_1 = capacity_1 - missing_1
    local n = math.min(credit - settled, math.min(2 * capacity_1, MOST) - (capacity_1 - left_1))
    if n > 0 then
      
      missing_1 = missing_1 + n
    end
  end
  left_1 = capacity_1 - missing_1
end
allowed = allowed and (cost_1 == 0 or cost_1 <= left_1)
if allowed then
  more_1 = cost_1 + math.max(0, math.min(more_1, left_1 - cost_1))
  want_1 = math.max(0, math.min(want_1, math.floor((left_1 - more_1) / struct.unpack('>I2', ARGV[7 * 1 + 2], 4))))
else
  more_1, want_1 = 0, 0
end
if changed_1 or more_1 + want_1 > 0 then
  local n, value, reset = more_1, nil, nil
  if changed_1 or n > 0 then
    
  end
  if n > 0 then
    missing_1 = missing_1 + n
  end
  if want_1 > 0 then
    n = want_1
    do
  local slot = struct.unpack('>I3', ARGV[7 * 1 + 2], 11)
  if length_1 ~= slot or open_1 + before_1 == 0 then
    local till = at_1 - at_1 % slot + slot
    if open_1 + before_1 > 0 then till = math.max(at_1 + slot, ends_1 + length_1) end
    ends_1, length_1, open_1, before_1 = till, slot, 0, open_1 + before_1
  end
end
missing_1, open_1 = missing_1 + n, open_1 + n
  end
  reset = math.max(at_1, open_1 + before_1 > 0 and ends_1 + length_1 or 0) + math.ceil(missing_1 * q_1 / p_1)
if missing_1 + aside_1 > 0 or open_1 + before_1 > 0 or expires(stored[2]) * UNIT > now then
  local low, us, slots = part_1 % 4294967296, at_1 % 1000000, open_1 + before_1 > 0 and struct.pack('>I7I3I5I5', ends_1, length_1, open_1, before_1) or 0
  value = struct.pack('>I3I4I4I4I5', expiry(reset, stored[2]), (at_1 - us) / 1000000,
    us * 4096 + (part_1 - low) / 4294967296, low, missing_1)
  if slots ~= 0 then value = value .. slots end
  if aside_1 > 0 then value = value .. struct.pack('>I5I3', aside_1, capacity_1 % 8388608) end
end
  if value then
  added = added + redis.call('HSET', KEYS[1], ARGV[3], value)
  last = math.max(last, reset)
elseif stored[2] then
  redis.call('HDEL', KEYS[1], ARGV[3])
end
stored[2] = value
end
left_1 = left_1 - more_1 - want_1
if (cost_1 == 0 or more_1 == 0) and cost_1 <= capacity_1 and left_1 < math.max(1, cost_1) then
  local leave = math.max(1, cost_1) - left_1
  
end
if more_1 + want_1 == 0 and left_1 < math.max(1, cost_1) then
  do
  local reset
  reset = math.max(at_1, open_1 + before_1 > 0 and ends_1 + length_1 or 0) + math.ceil(missing_1 * q_1 / p_1)
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
local reply = {at_1, more_1, want_1, missing_1, part_1, open_1 + before_1 > 0 and struct.pack('>I7I3I5I5', ends_1, length_1, open_1, before_1) or 0}
if bad > 0 then reply[#reply + 1] = bad end
return reply
