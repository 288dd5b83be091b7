-- The sliding window counter: counts of the current sub-window of p_N µs and the q_N before it, the oldest of which is weighed
-- by the part of it that is still in the window.
--
-- value, 11 bytes and the counts: expiry 3; start of the current sub-window 7; bits of its length 1; the counts, newest
--   first, in as many bytes each as the largest takes
-- reply: start of the current sub-window, the list of the counts

---- load
local p_N, q_N = tonumber(ARGV[7 * N]), tonumber(ARGV[7 * N + 1])
local counts_N = {}
for i = 1, q_N + 1 do
  counts_N[i] = 0
end
local width = value_N and (#value_N - 11) / (q_N + 1)
if width and width >= 1 and width % 1 == 0 then
  local stored = {struct.unpack('>I3I7I1' .. string.rep('I' .. width, q_N + 1), value_N)} -- counts from the fourth on
  local start, bits = stored[2], stored[3]
  local _, own = math.frexp(p_N)
  if bits == own and start % p_N == 0 and now >= start - LATE then
    at_N = math.max(now, start)
    local passed = math.floor((at_N - start) / p_N)
    for i = passed + 1, q_N + 1 do
      counts_N[i] = stored[3 + i - passed]
    end
  else -- the limit was changed, or the clock was set back: what has not passed goes along into the current sub-window
    changed_N = true
    if now < start + (q_N + 1) * 2 ^ bits then
      for i = 1, q_N + 1 do
        counts_N[1] = counts_N[1] + stored[3 + i]
      end
    end
  end
end
local start_N = at_N - at_N % p_N
<left>

---- left
do
  local weighed, rest = muldiv(counts_N[q_N + 1], p_N - (at_N - start_N), p_N)
  if rest > 0 then
    weighed = weighed + 1
  end
  left_N = capacity_N - weighed
  for i = 1, q_N do
    left_N = left_N - counts_N[i]
  end
end

---- consume
counts_N[1] = counts_N[1] + n

---- refund
do
  local age = math.floor((start_N - taken + p_N - 1) / p_N) + 1
  if counts_N[age] then
    counts_N[age] = math.max(0, counts_N[age] - n)
  end
end

---- raise
if taken >= start_N and taken < start_N + p_N then
  counts_N[1] = counts_N[1] + math.max(0, n - (capacity_N - left_N))
end

---- save
local most, newest = 0, nil
for i = q_N + 1, 1, -1 do
  most = math.max(most, counts_N[i])
  if counts_N[i] > 0 then
    newest = i
  end
end
if newest then
  reset = start_N + (q_N + 2 - newest) * p_N
  local width = 1
  while most >= 256 ^ width do
    width = width + 1
  end
  local _, bits = math.frexp(p_N)
  value = struct.pack('>I3I7I1' .. string.rep('I' .. width, q_N + 1), expiry(reset), start_N, bits, unpack(counts_N))
end

---- reply
start_N, counts_N
