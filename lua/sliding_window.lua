-- The sliding window counter: counts of the current sub-window of ask[1] µs and the ask[2] before it, the oldest of which is
-- weighed by the part of it that is still in the window.
--
-- value, 11 bytes and the counts: expiry 3; start of the current sub-window 7; bits of its length 1; the counts, newest
--   first, in as many bytes each as the largest takes
-- reply: start of the current sub-window, the counts
do
  -- state returns a state of these counts.
  local function state(at, counts, ask)
    local sub, n = ask[1], ask[2]
    local start = at - at % sub
    local used, rest = muldiv(counts[n + 1], sub - (at - start), sub)
    if rest > 0 then
      used = used + 1
    end
    for i = 1, n do
      used = used + counts[i]
    end
    return {at = at, left = ask.capacity - used, start = start, counts = counts}
  end

  local function load(value, ask)
    local sub, n = ask[1], ask[2] + 1
    local counts = {}
    for i = 1, n do
      counts[i] = 0
    end
    local width = value and (#value - 11) / n
    if not value or width < 1 or width % 1 ~= 0 then
      return state(now, counts, ask)
    end
    local stored = {struct.unpack('>I3I7I1' .. string.rep('I' .. width, n), value)} -- counts from the fourth on
    local start, bits = stored[2], stored[3]
    local _, own = math.frexp(sub)
    if bits == own and start % sub == 0 and now >= start - LATE then
      local at = math.max(now, start)
      local passed = math.floor((at - start) / sub)
      for i = passed + 1, n do
        counts[i] = stored[3 + i - passed]
      end
      return state(at, counts, ask)
    end
    -- The limit was changed, or the clock was set back: what has not passed goes along into the current sub-window.
    if now < start + n * 2 ^ bits then
      for i = 1, n do
        counts[1] = counts[1] + stored[3 + i]
      end
    end
    local s = state(now, counts, ask)
    s.moved = true
    return s
  end

  local function take(s, ask)
    s.counts[1] = s.counts[1] + ask.cost
  end

  local function refund(s, ask)
    local age = math.floor((s.start - ask.taken + ask[1] - 1) / ask[1]) + 1
    if s.counts[age] then
      s.counts[age] = math.max(0, s.counts[age] - ask.cost)
    end
  end

  local function save(s, ask)
    local sub, n = ask[1], ask[2] + 1
    local most, newest = 0, nil
    for i = n, 1, -1 do
      most = math.max(most, s.counts[i])
      if s.counts[i] > 0 then
        newest = i
      end
    end
    if not newest then
      return nil
    end
    local width = 1
    while most >= 256 ^ width do
      width = width + 1
    end
    local _, bits = math.frexp(sub)
    local reset = s.start + (n + 1 - newest) * sub
    return struct.pack('>I3I7I1' .. string.rep('I' .. width, n), expiry(reset), s.start, bits, unpack(s.counts)), reset
  end

  local function reply(s, ask, out)
    out[#out + 1] = s.start
    for i = 1, ask[2] + 1 do
      out[#out + 1] = s.counts[i]
    end
  end

  algorithms.sliding_window = {load = load, take = take, refund = refund, save = save, reply = reply}
end
