-- An operation is asked for several rules of one key.
--
-- KEYS[1]   the hash with the counts of the key
-- KEYS[2..] the sorted sets of its sliding window logs
-- ARGV[1]   the instant by the clock of a test, or nothing
-- ARGV[2..] eight for each rule: the field, the algorithm, the cost, the capacity, the window in µs, two numbers that the
--           algorithm explains, and for a refund the instant at which was taken
--
-- The fields of the hash are the four bytes of a rule's ID. Its values begin with their expiry, so that whoever writes next
-- to them can tell which are of no more use.

-- load returns the asks with their states.
local function load(from)
  local asks, fields = {}, {}
  for i = from, #ARGV, 8 do
    fields[#fields + 1] = ARGV[i]
    asks[#asks + 1] = {
      field = ARGV[i],
      algorithm = algorithms[ARGV[i + 1]],
      cost = tonumber(ARGV[i + 2]),
      capacity = tonumber(ARGV[i + 3]),
      window = tonumber(ARGV[i + 4]),
      tonumber(ARGV[i + 5]),
      tonumber(ARGV[i + 6]),
      taken = tonumber(ARGV[i + 7]),
    }
  end
  local values = redis.call('HMGET', KEYS[1], unpack(fields))
  for i, ask in ipairs(asks) do
    ask.state = ask.algorithm.load(values[i], ask)
  end
  return asks
end

-- save writes the states back. When that adds fields, it looks at two others and drops those that have expired: so a hash does
-- not grow while rules come and go.
local function save(asks)
  local write, remove, last = {}, {}, now
  for _, ask in ipairs(asks) do
    local value, reset = ask.algorithm.save(ask.state, ask)
    if value then
      write[#write + 1] = ask.field
      write[#write + 1] = value
      last = math.max(last, reset)
    else
      remove[#remove + 1] = ask.field
    end
  end
  if #remove > 0 then
    redis.call('HDEL', KEYS[1], unpack(remove))
  end
  if #write == 0 then
    return
  end
  local added = redis.call('HSET', KEYS[1], unpack(write))
  keep(KEYS[1], last)
  if added > 0 and redis.call('HLEN', KEYS[1]) > added then
    local some = redis.call('HRANDFIELD', KEYS[1], 2, 'WITHVALUES')
    for i = 1, #some, 2 do
      if expired(some[i + 1]) then
        redis.call('HDEL', KEYS[1], some[i])
      end
    end
  end
end
