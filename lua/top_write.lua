-- Write the top keys of a node, if they are still wanted.
--
-- KEYS[1] the sorted set of the zones whose top keys are wanted, by the instant until which they are
--         wanted
-- KEYS[2] the hash of the top keys by node: the instant, in 7 bytes, and the keys
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] the zone
-- ARGV[3] the name of the node
-- ARGV[4] its top keys
-- ARGV[5] for how many µs the top keys are of use
-- returns: 1 if the top keys are wanted, else 0
local wanted = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[2]) or 0)
if wanted < now then return 0 end
redis.call('HSET', KEYS[2], ARGV[3], struct.pack('>I7', now) .. ARGV[4])
keep(KEYS[2], now + tonumber(ARGV[5]))
return 1
