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
local last = now + tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], string.format('%.0f', last), ARGV[2])
keep(KEYS[1], last)
