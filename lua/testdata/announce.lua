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
local name, text, before, alive = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if before ~= text then
  local last = redis.call('HGET', KEYS[2], before)
  if last and string.sub(last, 8) == name then redis.call('HDEL', KEYS[2], before) end
end
if text == '' then
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[3], name)
  return {}
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), name)
local gone = redis.call('ZCOUNT', KEYS[1], '-inf', string.format('(%.0f', now - alive))
if gone > 0 then
  for _, other in ipairs(redis.call('ZRANGE', KEYS[1], 0, gone - 1)) do
    redis.call('ZREM', KEYS[1], other)
    redis.call('HDEL', KEYS[3], other)
  end
end
redis.call('HSET', KEYS[2], text, struct.pack('>I7', now) .. name)
if before ~= text or redis.call('HEXISTS', KEYS[3], name) == 0 then
  redis.call('HSET', KEYS[3], name, redis.sha1hex(text))
end
keep(KEYS[1], now + alive)
keep(KEYS[2], now + alive)
keep(KEYS[3], now + alive)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('(%.0f', now))
local out = {redis.call('ZCARD', KEYS[1]), redis.call('ZRANGE', KEYS[4], 0, -1)}
local all, nodes = redis.call('HGETALL', KEYS[2]), nil
for i = 1, #all, 2 do
  if struct.unpack('>I7', all[i + 1]) + alive < now then
    redis.call('HDEL', KEYS[2], all[i])
  elseif all[i] ~= text then
    if not nodes then
      nodes = {}
      local digests = redis.call('HGETALL', KEYS[3])
      for j = 2, #digests, 2 do nodes[digests[j]] = (nodes[digests[j]] or 0) + 1 end
    end
    out[#out + 1] = string.sub(all[i + 1], 8)
    out[#out + 1] = all[i]
    out[#out + 1] = nodes[redis.sha1hex(all[i])] or 1
  end
end
return out
