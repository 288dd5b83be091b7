local number = ARGV[1]
if number == '' then number = redis.call('HGET', KEYS[1], 'newest') end
local version = number and redis.call('HGET', KEYS[1], number)
if not version then return {} end
local name = string.sub(version, 1, 64)
if name == ARGV[2] then return {version} end
return {version, redis.call('HGET', KEYS[1], name)}
