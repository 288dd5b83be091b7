-- Write a version of the rules.
--
-- All versions are in one hash, so that Redis evicts or loses all of them or none:
--   newest        the number of the newest version
--   <number>      a version: 64 bytes, which are the name of its document, and what package rulestore
--                 writes after them
--   <name>        a document, whole. Versions with the same document share it
--   patch:<name>  a document as a patch: 64 bytes, which are the name of the document that it
--                 changes, and the patch
--
-- KEYS[1] the hash
-- ARGV[1] the number of the version that must be the newest one
-- ARGV[2] the number of the version. A version with a number below ARGV[1] is added to the history
-- ARGV[3] the version
-- ARGV[4] its document; empty when the store is expected to have it
-- ARGV[5] the name of the document that ARGV[4] is a patch of; empty when it is whole
-- ARGV[6] how many versions to keep, at most
-- ARGV[7] how many bytes of documents to keep, at most. Those of the newest version are always kept
-- ARGV[8] the channel for announcements
-- returns: of how many patches the newest document is made; `conflict` if ARGV[1] or ARGV[2] does not
--   fit; or `document` if a document is missing
local number, version = ARGV[2], ARGV[3]
local name = string.sub(version, 1, 64)
local function has(document)
  return redis.call('HEXISTS', KEYS[1], document) + redis.call('HEXISTS', KEYS[1], 'patch:' .. document) > 0
end
if redis.call('HGET', KEYS[1], number) == version then return 0 end -- sent twice
if (redis.call('HGET', KEYS[1], 'newest') or '0') ~= ARGV[1] then return 'conflict' end
local older = tonumber(number) < tonumber(ARGV[1])
if older and redis.call('HEXISTS', KEYS[1], number) == 1 then return 'conflict' end
if not has(name) then
  if ARGV[4] == '' or ARGV[5] ~= '' and not has(ARGV[5]) then return 'document' end
  redis.call('HSET', KEYS[1], (ARGV[5] == '' and '' or 'patch:') .. name, ARGV[5] .. ARGV[4])
end
redis.call('HSET', KEYS[1], number, version)
if not older then redis.call('HSET', KEYS[1], 'newest', number) end
