if redis.call('HEXISTS', KEYS[1], 'patch:' .. ARGV[1]) == 0 then return 0 end
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
