-- Read a version of the rules. rules_write.lua says how they are kept.
--
-- KEYS[1] the hash
-- ARGV[1] the number; empty for the newest version
-- ARGV[2] the name of the document that the reader has, or empty
-- returns: the version, and its document unless the reader has it; nothing if there is none
local number = ARGV[1]
if number == '' then number = redis.call('HGET', KEYS[1], 'newest') end
local version = number and redis.call('HGET', KEYS[1], number)
if not version then return {} end
local name = string.sub(version, 1, 64)
if name == ARGV[2] then return {version} end
return {version, redis.call('HGET', KEYS[1], name)}
