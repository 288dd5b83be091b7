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
local node, sequence, hold = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local all, free, gone = redis.call('HGETALL', KEYS[1]), tonumber(ARGV[4]) - hold, {}
for i = 1, #all, 2 do
  local till, newest, permits = 0, 0, 0
  if #all[i + 1] == 19 then till, newest, permits = struct.unpack('>I7I7I5', all[i + 1]) end
  if all[i] == node then
    if newest >= sequence then return {} end
  elseif till <= now then
    gone[#gone + 1] = all[i]
  else
    free = free - permits
  end
end
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
local above = math.max(-free, 0)
local needed = math.min(math.max(free, 0), tonumber(ARGV[6]))
free = free - needed
local wanted = math.min(math.max(math.floor((free - tonumber(ARGV[8])) / tonumber(ARGV[9])), 0), tonumber(ARGV[7]))
local permits = hold + needed + wanted
if permits > 0 then
  redis.call('HSET', KEYS[1], node, struct.pack('>I7I7I5', now + tonumber(ARGV[10]), sequence, permits))
  keep(KEYS[1], now + tonumber(ARGV[10]))
else
  redis.call('HDEL', KEYS[1], node)
end
return {math.max(permits - above, 0), math.max(free - wanted, 0)}
