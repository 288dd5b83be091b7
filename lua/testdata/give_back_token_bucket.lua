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
local SHARES, SLOT, MAX_WAIT = 4096, 60000000, 2000000
local NEAR, COARSE = 8192, 256
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
local function held(parts, passed, p, q)
  local current, previous = parts.current, parts.previous
  local us = current.shares * passed - current.offset + previous.shares * (passed + parts.length) - previous.offset
  local events, numerator = given(math.ceil(us / SHARES), p, q)
  return current.events + previous.events + events, numerator
end
local function accruesIn(us, at, fraction, parts, p, q)
  local elapsed = us
  if parts then
    local now = math.min(us, parts.ends - at)
    local later = math.min(us - now, parts.length)
    elapsed = math.floor(now * (SHARES - sharesOf(parts)) / SHARES)
      + math.floor(later * (SHARES - parts.current.shares) / SHARES) + us - now - later
  end
  local events, numerator = given(elapsed, p, q)
  return fraction + numerator >= q and events + 1 or events
end
local function promises(wait, at, cost, missing, fraction, parts, p, q, capacity)
  if wait == 0 or cost > capacity then return false end
  if parts then
    local us = 2 * parts.length * sharesOf(parts) - parts.current.offset - parts.previous.offset
    local most, ahead = given(math.ceil(us / SHARES), p, q)
    if parts.current.events + parts.previous.events + most + (ahead > 0 and 1 or 0) + cost > capacity then return false end
  end
  return missing + cost - capacity <= math.min(accruesIn(wait, at, fraction, parts, p, q), MOST - capacity)
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
local parts_1, share_1, scarce_1 = nil, 0, 0
do
  local length = stored[2] and #stored[2] or 0
  local size = length >= 63 and 63 or length >= 55 and 55 or length >= 28 and 28 or 20
  if length >= size and length <= math.min(size + 2, 64) then
    local seconds, mixed, low
    seconds, mixed, low, missing_1 = struct.unpack('>I4I4I4I5', stored[2], 4)
    local high = mixed % 4096
    written_1 = seconds * 1000000 + (mixed - high) / 4096
    if high + low > 0 then fraction_1 = numeratorOf(high * 4294967296 + low, q_1) end
    if length > size then
      local coarse = length == size + 1
      local noted, unit = struct.unpack(coarse and '>I1' or '>I2', stored[2], size + 1), coarse and COARSE or 1
      if noted > 0 then scarce_1 = (math.floor(written_1 / (unit * NEAR)) + 2 - noted) * unit end
    end
    if size == 28 or size == 63 then
      local under
      aside_1, under = struct.unpack('>I5I3', stored[2], size - 7)
      charged_1 = under >= 8388608
      if under % 8388608 ~= capacity_1 % 8388608 then
        missing_1, aside_1, charged_1 = math.min(missing_1 + aside_1, MOST), 0, false
      end
    end
    if size >= 55 then
      local a, b, ends, length = {}, {}, nil, nil
ends, length, a.shares, a.offset, a.events, b.shares, b.offset, b.events =
  struct.unpack('>I7I4I2I5I5I2I5I5', stored[2], 21)
parts_1 = {ends = ends, length = length, current = a, previous = b}
if length > SLOT or length == 0 or ends > written_1 + length or sharesOf(parts_1) > SHARES then written_1 = 0 end
    end
  end
end
if stored[2] and (written_1 == 0 or written_1 > now + STEP) then
  bad, stored[2], written_1 = bad + 1, '', 0
  missing_1, fraction_1, aside_1, charged_1, scarce_1 = 0, 0, 0, false, 0
parts_1 = nil
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
    if parts_1 then parts_1.ends = parts_1.ends + now - from end
    at_1, from, changed_1 = now, now, true
  end
  repeat
    ended = parts_1 and at_1 >= parts_1.ends
    till = ended and parts_1.ends or at_1
    do
  local elapsed = till - from
  if parts_1 then elapsed = math.floor(elapsed * (SHARES - sharesOf(parts_1)) / SHARES) end
  if missing_1 + aside_1 > 0 then
    local events
    do
  local numerator
  events, numerator = given(elapsed, p_1, q_1)
  fraction_1 = fraction_1 + numerator
  if fraction_1 >= q_1 then events, fraction_1 = events + 1, fraction_1 - q_1 end
end
    missing_1 = missing_1 - events
    if missing_1 <= 0 then
      aside_1 = math.max(0, aside_1 + missing_1)
      missing_1, fraction_1 = 0, 0
    end
  end
  if parts_1 then
  local least, ahead = held(parts_1, till - parts_1.ends + parts_1.length, p_1, q_1)
  if least >= 2 * capacity_1 then
    least, ahead = 2 * capacity_1, 0
  elseif ahead > 0 then
    least, ahead = least + 1, q_1 - ahead
  end
  if missing_1 < least or missing_1 == least and fraction_1 > ahead then
    missing_1, fraction_1 = least, ahead
  end
end
end
    if missing_1 == 0 then
  scarce_1 = 0
elseif scarce_1 ~= 0 then
  local least, ahead = 0, 0
  if parts_1 then least, ahead = held(parts_1, till - parts_1.ends + parts_1.length, p_1, q_1) end
  if missing_1 - least - (ahead > 0 and 1 or 0) <= math.floor(capacity_1 / 16) then
    scarce_1 = math.floor(till / NEAR) + 1
  end
end
    from = till
    if ended then
      parts_1.previous, parts_1.current = parts_1.current, {shares = 0, offset = 0, events = 0}
parts_1.ends = parts_1.ends + parts_1.length
if sharesOf(parts_1) + parts_1.current.events + parts_1.previous.events == 0 then parts_1 = nil end
    end
  until not ended
end
left_1 = capacity_1 - missing_1
local back_1 = 0
do
  local turn, taken = struct.unpack('>I7I7', ARGV[7 * 1 + 2])
  if taken >= (created or 0) and most_1 and missing_1 > capacity_1 and turn > at_1 then
    local events = accruesIn(turn - at_1, at_1, fraction_1, parts_1, p_1, q_1)
    if events >= missing_1 - capacity_1 then
      back_1, missing_1 = 1, missing_1 - cost_1
      local value, reset
      do
  local us = math.ceil(missing_1 * q_1 / p_1)
  if missing_1 > 0 and not tonumber(ARGV[7 * 1]) then us = math.max(us, tonumber(string.match(ARGV[7 * 1], ':(%d+)$'))) end
  reset = math.max(at_1, parts_1 and parts_1.ends + parts_1.length or 0) + us
end
if missing_1 + aside_1 > 0 or parts_1 or expires(stored[2]) * UNIT > now then
  local fraction = fraction_1 > 0 and keptOf(fraction_1, q_1) or 0
  local low, us = fraction % 4294967296, at_1 % 1000000
  value = struct.pack('>I3I4I4I4I5', expiry(reset, stored[2]), (at_1 - us) / 1000000,
    us * 4096 + (fraction - low) / 4294967296, low, missing_1)
  if parts_1 then value = value .. struct.pack('>I7I4I2I5I5I2I5I5', parts_1.ends, parts_1.length, parts_1.current.shares, parts_1.current.offset,
  parts_1.current.events, parts_1.previous.shares, parts_1.previous.offset, parts_1.previous.events) end
  if aside_1 > 0 or charged_1 then
    value = value .. struct.pack('>I5I3', aside_1, capacity_1 % 8388608 + (charged_1 and 8388608 or 0))
  end
  if scarce_1 ~= 0 then
    local coarse = #value == 63
    local unit, most = coarse and COARSE or 1, coarse and 254 or 65534
    local units = math.floor(at_1 / (unit * NEAR)) + 1 - math.ceil(scarce_1 / unit)
    value = value .. struct.pack(coarse and '>I1' or '>I2', 1 + math.max(0, math.min(units, most)))
  end
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
local reply = {back_1}
if bad > 0 then reply[#reply + 1] = bad end
return reply
