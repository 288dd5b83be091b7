-- The end of rules_write.lua: remove the versions that are not kept any more, and the documents that
-- no kept version needs.
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
local function need(document) -- returns how many patches make the document
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
    bytes = math.huge -- all older ones go too
  else
    for _, document in ipairs(needed) do unused[document] = nil end
  end
  needed = {}
end
for document in pairs(unused) do redis.call('HDEL', KEYS[1], document) end
if not older then redis.pcall('PUBLISH', ARGV[8], number) end -- the user may not be allowed to publish
return newest
