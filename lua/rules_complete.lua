-- Keep a document of the rules whole, beside the patch as which it is kept. rules_write.lua says how.
--
-- KEYS[1] the hash
-- ARGV[1] the name of the document
-- ARGV[2] the document
if redis.call('HEXISTS', KEYS[1], 'patch:' .. ARGV[1]) == 0 then return 0 end -- nothing needs the document any more
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
