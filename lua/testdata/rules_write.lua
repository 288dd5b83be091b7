local number, version = ARGV[2], ARGV[3]
local name = string.sub(version, 1, 64)
if redis.call('HGET', KEYS[1], number) == version then return 'written' end
if (redis.call('HGET', KEYS[1], 'newest') or '0') ~= ARGV[1] then return 'conflict' end
local older = tonumber(number) < tonumber(ARGV[1])
if older and redis.call('HEXISTS', KEYS[1], number) == 1 then return 'conflict' end
if redis.call('HEXISTS', KEYS[1], name) == 0 then
  if ARGV[4] == '' then return 'document' end
  redis.call('HSET', KEYS[1], name, ARGV[4])
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
local bytes = 0
for i, n in ipairs(numbers) do
  local field = string.format('%.0f', n)
  local document = string.sub(redis.call('HGET', KEYS[1], field), 1, 64)
  if unused[document] then bytes = bytes + redis.call('HSTRLEN', KEYS[1], document) end
  if i > 1 and (i > tonumber(ARGV[5]) or bytes > tonumber(ARGV[6])) then
    redis.call('HDEL', KEYS[1], field)
    bytes = math.huge
  else
    unused[document] = nil
  end
end
for document in pairs(unused) do redis.call('HDEL', KEYS[1], document) end
if not older then redis.pcall('PUBLISH', ARGV[7], number) end
return 'written'
