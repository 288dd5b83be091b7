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
local SHARES, MAX_WAIT, IS_LONG, NEAR = 4096, 2000000, 268435456, 8192
local function longOf(length) return math.min(9 * length, 120000000) end
local function has(n, bit) return n % (2 * bit) >= bit end
local function keptOf(numerator, q)
  local product = numerator * 2 ^ 44
  return math.floor((product - math.fmod(product, q)) / q + 0.5)
end
local function numeratorOf(fraction, q)
  local n = math.floor((fraction + 1) * q / 2 ^ 44)
  return keptOf(n, q) <= fraction and n or n - 1
end
local function sharesOf(parts) return parts.current.shares + parts.previous.shares end
local function given(us, p, q)
  local rest = us % q
  local events, numerator = muldiv(p, rest, q)
  return (us - rest) / q * p + events, numerator
end
local function held(parts, at, p, q)
  local current, previous, ends = parts.current, parts.previous, parts.ends
  local us = current.accrues - current.shares * (ends + parts.next - at) + previous.accrues - previous.shares * (ends - at)
  local events, numerator = given(math.ceil(us / SHARES), p, q)
  return current.events + previous.events + events, numerator
end
local function holds(parts, at, p, q)
  if not parts then return 0 end
  local events, numerator = held(parts, at, p, q)
  return numerator > 0 and events + 1 or events
end
local function isHalfFull(missing, parts, at, p, q, capacity) return 2 * (missing - holds(parts, at, p, q)) <= capacity end
local function isAmple(recalled, aside, charged, missing, parts, at, p, q, capacity)
  return recalled == 0 and aside == 0 and not charged and isHalfFull(missing, parts, at, p, q, capacity)
end
local function most(parts, p, q)
  local events, numerator = given(math.ceil((parts.current.accrues + parts.previous.accrues) / SHARES), p, q)
  return parts.current.events + parts.previous.events + events + (numerator > 0 and 1 or 0)
end
local function largePart(lease, left, held, most, capacity)
  local divisor, want = struct.unpack('>I2I5', lease, 4)
  local fair, room = math.floor(16 * (left + held) / (5 * divisor)), math.floor(capacity * math.max(40, math.min(80, divisor)) / 100) - most
  return math.max(0, math.min(want, math.max(fair, math.floor(room / 10)), room, left, math.floor(capacity / 8)))
end
local function newParts(at, short, length)
  return {ends = at + length, length = short, next = length, now = length, before = length,
    current = {shares = 0, accrues = 0, events = 0}, previous = {shares = 0, accrues = 0, events = 0}}
end
local function accruesIn(us, at, fraction, parts, p, q)
  local elapsed = us
  if parts then
    local now = math.min(us, parts.ends - at)
    local later = math.min(us - now, parts.next)
    elapsed = math.floor(now * (SHARES - sharesOf(parts)) / SHARES)
      + math.floor(later * (SHARES - parts.current.shares) / SHARES) + us - now - later
  end
  local events, numerator = given(elapsed, p, q)
  return fraction + numerator >= q and events + 1 or events
end
local function promises(wait, at, cost, missing, fraction, parts, p, q, capacity)
  if wait == 0 or cost > capacity then return false end
  if parts and most(parts, p, q) + cost > capacity then return false end
  return missing + cost - capacity <= math.min(accruesIn(wait, at, fraction, parts, p, q), MOST - capacity)
end
local WINDOWS, UNITS = 12, 255
local function unitOf(parts) return math.floor(longOf(parts.length) / (24 * UNITS)) end
local function moveOverflow(parts, at)
  local old, moved = parts.overflow, {newest = math.floor(at / (UNITS * unitOf(parts)))}
  for i = 1, WINDOWS do moved[i] = old and old[i - moved.newest + old.newest] or 0 end
  parts.overflow = moved
end
local function addOverflow(parts, from, to)
  moveOverflow(parts, to)
  local unit, windows = unitOf(parts), parts.overflow
  for i = 1, WINDOWS do
    local begins = (windows.newest - i + 1) * UNITS * unit
    local us = math.min(to, begins + UNITS * unit) - math.max(from, begins)
    if us > 0 then windows[i] = math.min(UNITS, windows[i] + math.floor(us / unit)) end
  end
end
local function payFor(parts, spends, most, p, q)
  local windows, unit, us = parts.overflow, unitOf(parts), 0
  local newest = struct.unpack('>I7', spends, 91)
  for i = WINDOWS, 1, -1 do
    local n = math.min(struct.unpack('>I2', spends, 96 + 2 * i), most)
    most = most - n
    local units = math.floor(given(n, q, p) / unit)
    for k = WINDOWS, 1, -1 do
      if windows.newest - k > newest - i then
        local paid = math.min(units, windows[k])
        windows[k], units, us = windows[k] - paid, units - paid, us + paid * unit
      end
    end
  end
  return us
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
local p_1, q_1, most_1 = tonumber(ARGV[7 * 1]), tonumber(ARGV[7 * 1 + 1]), nil
if not p_1 then p_1 = tonumber(string.match(ARGV[7 * 1], '^%d+')) end
if not q_1 then
  local q, most = string.match(ARGV[7 * 1 + 1], '^(%d+):(%d+)$')
  q_1, most_1 = tonumber(q), tonumber(most)
end
local missing_1, fraction_1, aside_1, charged_1 = 0, 0, 0, false
local parts_1, scarce_1, recalled_1 = nil, 0, 0
do
  local length = stored[2] and #stored[2] or 0
  local flags = length > 20 and string.byte(stored[2], 21) or 0
  local size = 20 + (flags > 0 and 1 or 0) + (has(flags, 1) and 18 or 0) + (has(flags, 2) and 14 or 0)
    + (has(flags, 4) and WINDOWS or 0) + (has(flags, 8) and 8 or 0) + (has(flags, 16) and 2 or 0) + (has(flags, 32) and 4 or 0)
  if length == size and flags < 64 and (has(flags, 1) or not has(flags, 2) and not has(flags, 4)) then
    local seconds, mixed, low
    seconds, mixed, low, missing_1 = struct.unpack('>I4I4I4I5', stored[2], 4)
    local high = mixed % 4096
    written_1 = seconds * 1000000 + (mixed - high) / 4096
    if high + low > 0 then fraction_1 = numeratorOf(high * 4294967296 + low, q_1) end
    local at = 22
    if has(flags, 1) then
      parts_1 = newParts(0, 1, 1)
do
  local ends, length, a, b = nil, nil, parts_1.current, parts_1.previous
  ends, length, a.events, b.events = struct.unpack('>I4I4I5I5', stored[2], at)
  parts_1.ends, parts_1.length = written_1 + ends, length % IS_LONG
  local long = longOf(parts_1.length)
  parts_1.next = has(length, IS_LONG) and long or parts_1.length
  parts_1.now = has(length, 2 * IS_LONG) and long or parts_1.length
  parts_1.before = has(length, 4 * IS_LONG) and long or parts_1.length
  at = at + 18
  if has(flags, 2) then
    a.shares, a.accrues, b.shares, b.accrues = struct.unpack('>I2I5I2I5', stored[2], at)
    at = at + 14
  end
  if parts_1.length > 60000000 or unitOf(parts_1) < 1 or ends > parts_1.now or sharesOf(parts_1) > SHARES then
    written_1 = 0
  elseif has(flags, 4) then
    parts_1.overflow = {newest = math.floor(written_1 / (UNITS * unitOf(parts_1))), string.byte(stored[2], at, at + WINDOWS - 1)}
    at = at + WINDOWS
  end
end
    end
    if has(flags, 8) then
      local under
      aside_1, under = struct.unpack('>I5I3', stored[2], at)
      charged_1 = under >= 8388608
      if under % 8388608 ~= capacity_1 % 8388608 then
        missing_1, aside_1, charged_1 = math.min(missing_1 + aside_1, MOST), 0, false
      end
      at = at + 8
    end
    if has(flags, 16) then
      local noted = struct.unpack('>I2', stored[2], at)
      if noted > 0 then scarce_1 = math.floor(written_1 / NEAR) + 2 - noted end
      at = at + 2
    end
    if has(flags, 32) then recalled_1 = written_1 - struct.unpack('>I4', stored[2], at) end
  end
end
if stored[2] and (written_1 == 0 or written_1 > now + STEP) then
  bad, stored[2], written_1 = bad + 1, '', 0
  missing_1, fraction_1, aside_1, charged_1, scarce_1 = 0, 0, 0, false, 0
parts_1, recalled_1 = nil, 0
end
do
  local most = most_1 or 2 * capacity_1
  if missing_1 <= most then
    charged_1 = false
  elseif not charged_1 then
    missing_1, aside_1 = most, aside_1 + missing_1 - most
  end
  local from, till, ended = written_1, nil, nil
  at_1 = math.max(now, from)
  if now < from - LATE then
    recalled_1 = 0
    if parts_1 then parts_1.ends, parts_1.overflow = parts_1.ends + now - from, nil end
    at_1, from, changed_1 = now, now, true
  end
  repeat
    ended = parts_1 and at_1 >= parts_1.ends
    till = ended and parts_1.ends or at_1
    do
  local elapsed = till - from
  if parts_1 then elapsed = math.floor(elapsed * (SHARES - sharesOf(parts_1)) / SHARES) end
  local lacks, ahead = missing_1, fraction_1
  if missing_1 + aside_1 > 0 then
    local events
    do
  local numerator
  events, numerator = given(elapsed, p_1, q_1)
  fraction_1 = fraction_1 + numerator
  if fraction_1 >= q_1 then events, fraction_1 = events + 1, fraction_1 - q_1 end
end
    lacks, ahead = missing_1 - math.min(events, 2 * MOST), fraction_1
    missing_1 = missing_1 - events
    if missing_1 <= 0 then
      aside_1 = math.max(0, aside_1 + missing_1)
      missing_1, fraction_1 = 0, 0
    end
  end
  if parts_1 then
  local least, ahead = held(parts_1, till, p_1, q_1)
  if least >= 2 * capacity_1 then
    least, ahead = 2 * capacity_1, 0
  elseif ahead > 0 then
    least, ahead = least + 1, q_1 - ahead
  end
  if missing_1 < least or missing_1 == least and fraction_1 > ahead then
    missing_1, fraction_1 = least, ahead
  end
end
  if parts_1 and sharesOf(parts_1) == 0 and aside_1 == 0 and not charged_1 then
  local lost = missing_1 - lacks
  if ahead < fraction_1 then lost = lost - 1 end
  if lost > 0 then
    addOverflow(parts_1, math.max(from, till - given(math.min(lost, 2 * MOST), q_1, p_1)), till)
  elseif parts_1.overflow then
    moveOverflow(parts_1, till)
  end
end
end
    if missing_1 == 0 then
  scarce_1 = 0
elseif scarce_1 ~= 0 then
  if missing_1 - holds(parts_1, till, p_1, q_1) <= math.floor(capacity_1 / 16) then
    scarce_1 = math.floor(till / NEAR) + 1
  end
end
    from = till
    if ended then
      parts_1.previous, parts_1.current = parts_1.current, {shares = 0, accrues = 0, events = 0}
parts_1.ends = parts_1.ends + parts_1.next
parts_1.now, parts_1.before, parts_1.next = parts_1.next, parts_1.now, parts_1.length
if isAmple(recalled_1, aside_1, charged_1, missing_1, parts_1, till, p_1, q_1, capacity_1) then
  parts_1.next = longOf(parts_1.length)
end
if sharesOf(parts_1) + parts_1.current.events + parts_1.previous.events == 0 then parts_1 = nil end
    end
  until not ended
end
if recalled_1 > 0 and at_1 - recalled_1 >= math.max(500000, math.min(60000000, math.floor(math.ceil(capacity_1 * q_1 / p_1) / 4)))
    and isHalfFull(missing_1, parts_1, at_1, p_1, q_1, capacity_1) then
  recalled_1 = 0
end
left_1 = capacity_1 - missing_1
do
  local n, seen, taken = cost_1, struct.unpack('>I5I7', ARGV[7 * 1 + 2])
  local lacked = math.max(n, seen)
  if taken >= (created or 0) then
    
    if taken <= at_1 and not (most_1 and missing_1 > capacity_1) then
  local whole = scarce_1 ~= 0 and taken >= scarce_1 * NEAR and math.min(n, math.floor(capacity_1 / 16)) or 0
  local before, left = fraction_1, missing_1 - whole
  local events, fraction = given(at_1 - taken, p_1, q_1)
  if lacked > n then
    if fraction > fraction_1 then events = events + 1 end
    fraction = fraction_1
  end
  local most = lacked - events
  if most > n or most == n and fraction == 0 then
    n = missing_1 - n
  elseif most <= 0 then
    n = missing_1
  else
    n, fraction_1 = missing_1 - most, fraction_1 - fraction
    if fraction_1 < 0 then n, fraction_1 = n + 1, fraction_1 + q_1 end
  end
  if n > left then n, fraction_1 = left, before end
  if scarce_1 == 0 then scarce_1 = math.floor(at_1 / NEAR) + 1 end
  do
  local back = missing_1 > capacity_1 and math.min(missing_1 - n, aside_1) or 0
  missing_1, aside_1 = n + back, aside_1 - back
  if missing_1 <= 0 then missing_1, fraction_1 = 0, 0 end
  local till = at_1
  if parts_1 then
  local least, ahead = held(parts_1, till, p_1, q_1)
  if least >= 2 * capacity_1 then
    least, ahead = 2 * capacity_1, 0
  elseif ahead > 0 then
    least, ahead = least + 1, q_1 - ahead
  end
  if missing_1 < least or missing_1 == least and fraction_1 > ahead then
    missing_1, fraction_1 = least, ahead
  end
end
  if missing_1 == 0 then
  scarce_1 = 0
elseif scarce_1 ~= 0 then
  if missing_1 - holds(parts_1, till, p_1, q_1) <= math.floor(capacity_1 / 16) then
    scarce_1 = math.floor(till / NEAR) + 1
  end
end
end
end
    local value, reset
    do
  local us = math.ceil(missing_1 * q_1 / p_1)
  if missing_1 > 0 and not tonumber(ARGV[7 * 1]) then us = math.max(us, tonumber(string.match(ARGV[7 * 1], ':(%d+)$'))) end
  reset = math.max(at_1, parts_1 and parts_1.ends + parts_1.next or 0) + us
end
if missing_1 + aside_1 > 0 or parts_1 or expires(stored[2]) * UNIT > now then
  local fraction = fraction_1 > 0 and keptOf(fraction_1, q_1) or 0
  local low, us = fraction % 4294967296, at_1 % 1000000
  value = struct.pack('>I3I4I4I4I5', expiry(reset, stored[2]), (at_1 - us) / 1000000,
    us * 4096 + (fraction - low) / 4294967296, low, missing_1)
  local base, flags, special = value, 0, aside_1 > 0 or charged_1
  value = ''
  if parts_1 then
    flags = 1
    value = value .. struct.pack('>I4I4I5I5', parts_1.ends - at_1, parts_1.length + (parts_1.next > parts_1.length and IS_LONG or 0)
  + (parts_1.now > parts_1.length and 2 * IS_LONG or 0) + (parts_1.before > parts_1.length and 4 * IS_LONG or 0),
  parts_1.current.events, parts_1.previous.events)
if sharesOf(parts_1) > 0 then
  flags = flags + 2
  value = value .. struct.pack('>I2I5I2I5', parts_1.current.shares, parts_1.current.accrues,
    parts_1.previous.shares, parts_1.previous.accrues)
elseif parts_1.overflow and not special then
  flags = flags + 4
  value = value .. string.char(unpack(parts_1.overflow))
end
  end
  if special then
    flags = flags + 8
    value = value .. struct.pack('>I5I3', aside_1, capacity_1 % 8388608 + (charged_1 and 8388608 or 0))
  end
  if scarce_1 ~= 0 then
    flags = flags + 16
    value = value .. struct.pack('>I2', 1 + math.max(0, math.min(math.floor(at_1 / NEAR) + 1 - scarce_1, 65534)))
  end
  if recalled_1 > 0 and not special then
    flags = flags + 32
    value = value .. struct.pack('>I4', math.min(at_1 - recalled_1, 4294967295))
  end
  value = flags > 0 and base .. string.char(flags) .. value or base
end
    if value then
  added = added + redis.call('HSET', KEYS[1], ARGV[3], value)
  last = math.max(last, reset)
elseif stored[2] then
  redis.call('HDEL', KEYS[1], ARGV[3])
end
stored[2] = value
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
