-- The token bucket: what is missing from ask.capacity events, which refill by ask[1] events every ask[2] µs.
--
-- value, 20 bytes: expiry 3; at, in seconds 4; (at's µs, 20 bits; upper 12 bits of part) 4; lower 32 bits of part 4; missing 5
-- reply: missing, part
do
  local function load(value, ask)
    local s = {at = now, left = ask.capacity, missing = 0, part = 0}
    if not value or #value ~= 20 then
      return s
    end
    local refill, per = ask[1], ask[2]
    local _, seconds, mixed, low, missing = struct.unpack('>I3I4I4I4I5', value)
    local high = mixed % 4096
    local before = seconds * 1000000 + (mixed - high) / 4096
    local part = math.min(high * 4294967296 + low, per - 1) -- another rate may have a smaller unit
    local elapsed = now - before
    if elapsed < -LATE then
      s.moved = true
    elseif elapsed < 0 then
      s.at = before
    end
    if elapsed > 0 then
      local rest = elapsed % per
      local events = (elapsed - rest) / per * refill -- not exact only where far more than is missing
      if events < missing then
        local more, accrued = muldiv(refill, rest, per)
        accrued = accrued + part
        if accrued >= per then
          more, accrued = more + 1, accrued - per
        end
        events, part = events + more, accrued
      end
      missing = missing - events
    end
    if missing > 0 then
      s.left, s.missing, s.part = ask.capacity - missing, missing, part
    end
    return s
  end

  local function take(s, ask)
    s.missing = s.missing + ask.cost
  end

  local function refund(s, ask)
    s.missing = s.missing - ask.cost
    if s.missing <= 0 then
      s.missing, s.part = 0, 0
    end
  end

  local function save(s, ask)
    if s.missing == 0 then
      return nil
    end
    local reset = s.at + math.ceil(s.missing * ask[2] / ask[1])
    local low = s.part % 4294967296
    local us = s.at % 1000000
    return struct.pack('>I3I4I4I4I5', expiry(reset), (s.at - us) / 1000000, us * 4096 + (s.part - low) / 4294967296, low,
      s.missing), reset
  end

  local function reply(s, _, out)
    out[#out + 1] = s.missing
    out[#out + 1] = s.part
  end

  algorithms.token_bucket = {load = load, take = take, refund = refund, save = save, reply = reply}
end
