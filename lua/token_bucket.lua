-- The token bucket: what is missing from capacity_N events, which refill by p_N events every q_N µs.
--
-- value, 20 bytes: expiry 3; at, in seconds 4; (at's µs, 20 bits; upper 12 bits of part) 4; lower 32 bits of part 4; missing 5
-- reply: missing, part

---- load
local value_N = redis.call('HGET', KEYS[1], field_N)
local missing_N, part_N = 0, 0
if value_N and #value_N == 20 then
  local _, seconds, mixed, low, missing = struct.unpack('>I3I4I4I4I5', value_N)
  local high = mixed % 4096
  local before = seconds * 1000000 + (mixed - high) / 4096
  local part = math.min(high * 4294967296 + low, q_N - 1) -- another rate may have a smaller unit
  local elapsed = now - before
  if elapsed < -LATE then
    changed_N = true
  elseif elapsed < 0 then
    at_N = before
  else
    local rest = elapsed % q_N
    local events = (elapsed - rest) / q_N * p_N -- not exact only where far more than is missing
    if events < missing then
      local more, accrued = muldiv(p_N, rest, q_N)
      accrued = accrued + part
      if accrued >= q_N then
        more, accrued = more + 1, accrued - q_N
      end
      events, part = events + more, accrued
    end
    missing = missing - events
  end
  if missing > 0 then
    missing_N, part_N, left_N = missing, part, capacity_N - missing
  end
end

---- take
missing_N = missing_N + cost_N

---- refund
missing_N = missing_N - cost_N

---- save
if missing_N > 0 then
  reset = at_N + math.ceil(missing_N * q_N / p_N)
  local low, us = part_N % 4294967296, at_N % 1000000
  value = struct.pack('>I3I4I4I4I5', expiry(reset), (at_N - us) / 1000000, us * 4096 + (part_N - low) / 4294967296, low, missing_N)
end

---- reply
missing_N, part_N
