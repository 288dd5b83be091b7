-- The constants and functions of all scripts.

-- How much older than the newest reading of the clock another reading may be, in µs, before it counts
-- as a step back: limiter.LateReading.
local LATE = 1000000

-- The largest step back of the clock, in µs, after which stored instants are moved along. A value from
-- further in the future is foreign: no script of this package has written it.
local STEP = 86400000000

-- The unit of the expiries in values, 256 s, and the latest expiry that three bytes hold, in the year
-- 2106. A value that would expire later expires then.
local UNIT = 256000000
local LAST = 16777215 * UNIT

-- The largest number of consumed events that values have room for: maxConsumed of package limiter.
local MOST = 1099511627775

-- The longest lease of a window, in µs: limiter.maxLease.
local LEASE = 10000000

-- now is the instant of Redis's clock, or that of a test's clock in ARGV[1]. longer is for how many ms
-- more keys are kept: an hour in tests, because Redis expires keys by its own clock.
local now, longer = tonumber(ARGV[1]), 3600000
if not now then
  local time = redis.call('TIME')
  now, longer = time[1] * 1000000 + time[2], 0
end

-- expires returns the expiry of a value, in units: its first three bytes.
local function expires(value)
  return value and #value >= 3 and struct.unpack('>I3', value) or 0
end

-- expiry returns the expiry, in units, of a new value that is of use until reset. It is never before
-- the expiry of value, which the new value replaces.
local function expiry(reset, value)
  return math.max(math.ceil(math.min(reset, LAST) / UNIT), expires(value))
end

-- keep makes a key live until the instant reset at least. If the key has to live longer for that, keep
-- adds an eighth of the time, so that not every take sets the expiry.
local function keep(key, reset)
  local ms = math.ceil((math.min(reset, LAST) - now) / 1000) + longer
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, math.ceil(ms * 1.125)) end
end
