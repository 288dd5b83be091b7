local before, numbers = tonumber(ARGV[1]), {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local n = #field < 64 and tonumber(field)
  if n and (before <= 0 or n < before) then numbers[#numbers + 1] = n end
end
table.sort(numbers, function(a, b) return a > b end)
local list = {}
for i = 1, math.min(#numbers, tonumber(ARGV[2])) do
  list[i] = redis.call('HGET', KEYS[1], string.format('%.0f', numbers[i]))
end
return list
