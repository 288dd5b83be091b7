local number, version = ARGV[2], ARGV[3]
local name = string.sub(version, 1, 64)
local function has(document)
  return redis.call('HEXISTS', KEYS[1], document) + redis.call('HEXISTS', KEYS[1], 'patch:' .. document) > 0
end
if redis.call('HGET', KEYS[1], number) == version then return 0 end
if (redis.call('HGET', KEYS[1], 'newest') or '0') ~= ARGV[1] then return 'conflict' end
local older = tonumber(number) < tonumber(ARGV[1])
if older and redis.call('HEXISTS', KEYS[1], number) == 1 then return 'conflict' end
if not has(name) then
  if ARGV[4] == '' or ARGV[5] ~= '' and not has(ARGV[5]) then return 'document' end
  redis.call('HSET', KEYS[1], (ARGV[5] == '' and '' or 'patch:') .. name, ARGV[5] .. ARGV[4])
end
redis.call('HSET', KEYS[1], number, version)
if not older then redis.call('HSET', KEYS[1], 'newest', number) end
local numbers, unused = {}, {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local n = #field < 64 and tonumber(field)
  if n then
    numbers[#numbers + 1] = n
  elseif field ~= 'newest' then
    unused[field] = true
  end
end
table.sort(numbers, function(a, b) return a > b end)
local bytes, needed, patches = 0, {}, {}
local function need(document)
  if not patches[document] then
    patches[document] = 0
    local patch = 'patch:' .. document
    for _, field in ipairs({document, patch}) do
      if unused[field] then
        bytes = bytes + redis.call('HSTRLEN', KEYS[1], field)
        needed[#needed + 1] = field
      end
    end
    if not unused[document] and unused[patch] then
      patches[document] = 1 + need(string.sub(redis.call('HGET', KEYS[1], patch), 1, 64))
    end
  end
  return patches[document]
end
local newest
for i, n in ipairs(numbers) do
  local field = string.format('%.0f', n)
  local taken = need(string.sub(redis.call('HGET', KEYS[1], field), 1, 64))
  newest = newest or taken
  if i > 1 and (i > tonumber(ARGV[6]) or bytes > tonumber(ARGV[7])) then
    redis.call('HDEL', KEYS[1], field)
    bytes = math.huge
  else
    for _, document in ipairs(needed) do unused[document] = nil end
  end
  needed = {}
end
for document in pairs(unused) do redis.call('HDEL', KEYS[1], document) end
if not older then redis.pcall('PUBLISH', ARGV[8], number) end
return newest
