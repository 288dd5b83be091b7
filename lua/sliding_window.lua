-- The sliding window counter: counts of the current sub-window of ask[1] µs and the ask[2] before it, the oldest of which is
-- weighed by the part of it that is still in the window.
--
-- value, 11 bytes and the counts: expiry 3; start of the current sub-window 7; bits of its length 1; the counts, newest
--   first, in as many bytes each as the largest takes
-- reply: start of the current sub-window, the counts
local sliding_window = {}
algorithms.sliding_window = sliding_window

-- fresh returns a state in which used events were consumed just now.
local function fresh(used, ask)
  local s = {at = now, start = now - now % ask[1], counts = {used}}
  for i = 2, ask[2] + 1 do
    s.counts[i] = 0
  end
  return s
end

-- sum returns the sum of the first n counts.
local function sum(counts, n)
  local total = 0
  for i = 1, n do
    total = total + counts[i]
  end
  return total
end

function sliding_window.load(value, ask)
  local sub, n = ask[1], ask[2] + 1
  local width = value and (#value - 11) / n
  if not value or width < 1 or width % 1 ~= 0 then
    return fresh(0, ask)
  end
  local counts = {struct.unpack('>I3I7I1' .. string.rep('I' .. width, n), value)}
  local start, bits = counts[2], counts[3]
  counts = {unpack(counts, 4, n + 3)}

  local _, own = math.frexp(sub)
  if bits ~= own or start % sub ~= 0 or now < start - LATE then -- the limit was changed, or the clock was set back
    if now >= start + n * 2 ^ bits then
      return fresh(0, ask)
    end
    local s = fresh(sum(counts, n), ask)
    s.moved = true
    return s
  end
  local s = {at = math.max(now, start), counts = {}}
  s.start = s.at - s.at % sub
  local passed = (s.start - start) / sub
  for i = 1, n do
    s.counts[i] = counts[i - passed] or 0
  end
  return s
end

-- used returns how many events are in the window.
local function used(s, ask)
  local sub, n = ask[1], ask[2]
  local weighed, rest = muldiv(s.counts[n + 1], sub - (s.at - s.start), sub)
  if rest > 0 then
    weighed = weighed + 1
  end
  return sum(s.counts, n) + weighed
end

function sliding_window.fits(s, ask)
  return ask.cost <= ask.capacity - used(s, ask)
end

function sliding_window.take(s, ask)
  s.counts[1] = s.counts[1] + ask.cost
end

function sliding_window.refund(s, ask)
  local age = math.floor((s.start - ask.taken + ask[1] - 1) / ask[1]) + 1
  if s.counts[age] then
    s.counts[age] = math.max(0, s.counts[age] - ask.cost)
  end
end

function sliding_window.save(s, ask)
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

function sliding_window.reply(s, ask, out)
  out[#out + 1] = s.start
  for i = 1, ask[2] + 1 do
    out[#out + 1] = s.counts[i]
  end
end
