-- Ask all nodes for the keys that use a zone most. The nodes see the question in the reply to their
-- next announcement.
--
-- KEYS[1] the sorted set of the zones whose top keys are wanted, by the instant until which they are
--         wanted
-- ARGV[1] the instant by a test's clock, or empty
-- ARGV[2] the zone
-- ARGV[3] for how many µs its top keys are wanted
local last = now + tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], string.format('%.0f', last), ARGV[2])
keep(KEYS[1], last)
