-- What the rest stands on: the clock, and how long things are kept.

-- How much older than the newest a reading of the clock may be before it counts as a step back: limiter.LateReading.
local LATE = 1000000

-- How far a clock may be set back for what is stored to be moved with it. What is from further in the future is not ours.
local STEP = 86400000000

-- The unit of the expiries in values, 256 s, and the latest that three bytes can say, in the year 2106: what expires later is
-- kept until then.
local UNIT = 256000000
local LAST = 16777215 * UNIT

-- The most that values have room for: limiter.MaxConsumed.
local MOST = 1099511627775

-- How long a lease of a window lasts at most: limiter.maxLease.
local LEASE = 5000000

-- now is what Redis's clock reads, or what tests give as ARGV[1]. They have a clock of their own, and what they store is kept
-- for an hour (in milliseconds) longer, as the clock by which Redis expires keys goes on meanwhile.
local now, longer = tonumber(ARGV[1]), 3600000
if not now then
  local time = redis.call('TIME')
  now, longer = time[1] * 1000000 + time[2], 0
end

-- expires returns the first three bytes of a value, as a number: when it is of no more use.
local function expires(value)
  return value and #value >= 3 and struct.unpack('>I3', value) or 0
end

-- expiry returns the first three bytes of a value that is of use until reset, or longer if the one in its place is.
local function expiry(reset, value)
  return math.max(math.ceil(math.min(reset, LAST) / UNIT), expires(value))
end

-- lengthOf returns 15 bits that tell a length of time from most others: the upper six say how many bits it has.
local function lengthOf(us)
  local mantissa, bits = math.frexp(us)
  return bits * 512 + math.floor((2 * mantissa - 1) * 512)
end

-- keep lets a key live until the instant reset, or longer if it would anyway. A key that has to live longer gets an
-- eighth more, so that not every take has to set it again.
local function keep(key, reset)
  local ms = math.ceil((math.min(reset, LAST) - now) / 1000) + longer
  if redis.call('PTTL', key) < ms then
    redis.call('PEXPIRE', key, math.ceil(ms * 1.125))
  end
end
