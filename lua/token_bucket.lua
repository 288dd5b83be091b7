-- The token bucket: what is missing from capacity_N events, which refill by p_N events every q_N
-- µs, and its leases: see lease_slots.lua and limiter/leasetest/lending_bucket.go.
--
-- value, 20 bytes: expiry 3; seconds of the instant of the newest write 4; its µs, 20 bits, and the
--   upper 12 bits of part 4; lower 32 bits of part 4; missing 5. While leases are open, 20 more:
--   the slots. While the bucket lacks more than counts, 8 more: what is set aside 5, and the lower
--   bits of the capacity for which it is 3
-- reply: missing; part; the slots

---- read
local p_N, q_N = tonumber(ARGV[7 * N]), tonumber(ARGV[7 * N + 1])
local missing_N, part_N, aside_N = 0, 0, 0 -- aside: see limiter/token_bucket.go
local ends_N, length_N, open_N, before_N = 0, 0, 0, 0
local accrues_N = 0 -- open leases up to this number do not hold up the refill of a slot
if VALUE and (#VALUE == 20 or #VALUE == 28 or #VALUE == 40 or #VALUE == 48) then
  local seconds, mixed, low
  seconds, mixed, low, missing_N = struct.unpack('>I4I4I4I5', VALUE, 4)
  local high = mixed % 4096
  written_N = seconds * 1000000 + (mixed - high) / 4096
  part_N = math.min(high * 4294967296 + low, q_N - 1) -- another rate may have a smaller unit
  if #VALUE % 20 == 8 then
    local under
    aside_N, under = struct.unpack('>I5I3', VALUE, #VALUE - 7)
    if under ~= capacity_N % 8388608 then
      missing_N, aside_N = math.min(missing_N + aside_N, MOST), 0
    end
  end
  if #VALUE >= 40 then
    ends_N, length_N, open_N, before_N = struct.unpack('>I7I3I5I5', VALUE, 21)
    local rest = length_N % q_N
    accrues_N = (length_N - rest) / q_N * p_N + (muldiv(p_N, rest, q_N))
    <check_slots>
  end
end

---- clear
missing_N, part_N, aside_N = 0, 0, 0
ends_N, length_N, open_N, before_N = 0, 0, 0, 0

---- left
left_N = capacity_N - missing_N

---- consume
missing_N = missing_N + n

---- grant
<open_slot>
missing_N, open_N = missing_N + n, open_N + n

---- return
<close>
local back = missing_N > capacity_N and math.min(n, aside_N) or 0 -- see limiter/token_bucket.go
missing_N, aside_N = missing_N - (n - back), aside_N - back
if missing_N <= 0 then missing_N, part_N = 0, 0 end

---- quota
-- Leased events are not given back: they are when they are returned.
missing_N = math.max(missing_N - n, math.min(missing_N, open_N + before_N))
if missing_N == 0 then part_N = 0 end

---- lasts
math.ceil(capacity_N * q_N / p_N)

---- restore
if n > missing_N then missing_N, part_N = n, 0 end

---- reset
reset = math.max(at_N, open_N + before_N > 0 and ends_N + length_N or 0) + math.ceil(missing_N * q_N / p_N)

---- save
<reset>
if missing_N + aside_N > 0 or open_N + before_N > 0 or expires(VALUE) * UNIT > now then
  local low, us, slots = part_N % 4294967296, at_N % 1000000, <slots>
  value = struct.pack('>I3I4I4I4I5', expiry(reset, VALUE), (at_N - us) / 1000000,
    us * 4096 + (part_N - low) / 4294967296, low, missing_N)
  if slots ~= 0 then value = value .. slots end
  if aside_N > 0 then value = value .. struct.pack('>I5I3', aside_N, capacity_N % 8388608) end
end

---- reply
missing_N, part_N, <slots>
