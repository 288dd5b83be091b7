-- Read a version of the rules. rules_write.lua says how they are kept.
--
-- KEYS[1] the hash
-- ARGV[1] the number; empty for the newest version
-- ARGV[2] the name of the document that the reader has, or empty
-- returns: nothing if there is no such version; the version alone if the reader has its document; else
--   the version; a whole document after its name, or an empty text to start from the reader's document;
--   and the patches that lead from there to the version's document, the last one first, each after the
--   name of the document that it makes. Without patches, an empty text means that a document is missing
local number = ARGV[1]
if number == '' then number = redis.call('HGET', KEYS[1], 'newest') end
local version = number and redis.call('HGET', KEYS[1], number)
if not version then return {} end
local name, known = string.sub(version, 1, 64), ARGV[2]
if name == known then return {version} end
local whole, patches = nil, {}
local length -- length of the part of patches that leads from the whole document
while name ~= known do
  if not whole and redis.call('HEXISTS', KEYS[1], name) == 1 then whole, length = name, #patches end
  local patch = redis.call('HGET', KEYS[1], 'patch:' .. name)
  if not patch then break end
  patches[#patches + 1] = name
  patches[#patches + 1] = string.sub(patch, 65)
  name = string.sub(patch, 1, 64)
end
if name == known then return {version, '', unpack(patches)} end
if not whole then return {version, ''} end
return {version, whole .. redis.call('HGET', KEYS[1], whole), unpack(patches, 1, length)}
