-- The sliding window counter: the counts of the current sub-window of p_N µs and the q_N before it.
-- The oldest count is weighed by the part of its sub-window that is still in the window.
--
-- value, 16 bytes and the counts: expiry 3; instant of the newest write 7, in the current
--   sub-window; 1 bit while leases are open, and 47 bits for the length of the sub-windows; the
--   counts, newest first, each in as many bytes as the largest needs. While leases are open, 3 bytes
--   more: the expiry of the last lease, in µs since that write
-- reply: start of the current sub-window; the list of the counts; the expiry of the last lease

---- read
local p_N, q_N = tonumber(ARGV[7 * N]), tonumber(ARGV[7 * N + 1])
local counts_N, start_N, leased_N, length_N = {}, 0, 0, p_N
for i = 1, q_N + 1 do counts_N[i] = 0 end
if VALUE then
  local head = #VALUE >= 16 and struct.unpack('>I6', VALUE, 11) or 0
  local leases = head >= 2 ^ 47
  local width = (#VALUE - (leases and 19 or 16)) / (q_N + 1)
  if width >= 1 and width <= 5 and width % 1 == 0 and head % 2 ^ 47 > 0 then
    written_N, length_N = struct.unpack('>I7', VALUE, 4), head % 2 ^ 47
    counts_N = {struct.unpack('>' .. string.rep('I' .. width, q_N + 1), VALUE, 17)}
    counts_N[q_N + 2] = nil -- unpack also returns where it has stopped
    leased_N = leases and written_N + struct.unpack('>I3', VALUE, #VALUE - 2) or 0
  end
end

---- clear
leased_N, length_N = 0, p_N
for i = 1, q_N + 1 do counts_N[i] = 0 end

---- advance
do
  local back = now < written_N - LATE
  at_N = back and written_N or math.max(now, written_N)
  start_N = written_N - written_N % length_N
  local passed = (at_N - at_N % length_N - start_N) / length_N
  if passed > 0 then
    for i = q_N + 1, 1, -1 do counts_N[i] = counts_N[i - passed] or 0 end
  end
  start_N = at_N - at_N % length_N
  if back or length_N ~= p_N then -- what is used counts in the current sub-window
    <left>
    for i = 1, q_N + 1 do counts_N[i] = 0 end
    counts_N[1], length_N, changed_N = capacity_N - left_N, p_N, true
    at_N = back and now or at_N
    start_N = at_N - at_N % p_N
  end
end
leased_N = leased_N > written_N and math.min(leased_N, at_N + LEASE) or 0
<left>

---- left
do
  local weighed, rest = muldiv(counts_N[q_N + 1], length_N - (at_N - start_N), length_N)
  left_N = capacity_N - weighed - (rest > 0 and 1 or 0)
  for i = 1, q_N do left_N = left_N - counts_N[i] end
end

---- consume
counts_N[1] = counts_N[1] + n

---- grant
<consume>
leased_N = math.min(start_N + p_N, at_N + LEASE)

---- refund
do
  local age = math.floor((start_N - taken + p_N - 1) / p_N) + 1
  if counts_N[age] then counts_N[age] = math.max(0, counts_N[age] - n) end
end

---- quota
do
  local used = math.max(0, capacity_N - left_N - n) -- what is used after this
  for i = 1, q_N do
    local back = math.min(n, counts_N[i])
    counts_N[i], n = counts_N[i] - back, n - back
  end
  local low, high = n > 0 and 0 or counts_N[q_N + 1], counts_N[q_N + 1]
  while low < high do
    local middle = math.ceil((low + high) / 2)
    local weighed, rest = muldiv(middle, p_N - (at_N - start_N), p_N)
    if weighed + (rest > 0 and 1 or 0) > used then
      high = middle - 1
    else
      low = middle
    end
  end
  counts_N[q_N + 1] = low
end

---- lasts
(q_N + 2) * p_N

---- restore
counts_N[1] = counts_N[1] + math.max(0, n - (capacity_N - left_N))

---- reset
reset = 0
for i = q_N + 1, 1, -1 do
  if counts_N[i] > 0 then reset = start_N + (q_N + 2 - i) * p_N end
end

---- save
<reset>
if reset > 0 or expires(VALUE) * UNIT > now then
  local most, width, leases = math.max(unpack(counts_N)), 1, leased_N > at_N
  while most >= 256 ^ width do width = width + 1 end
  value = struct.pack('>I3I7I6' .. string.rep('I' .. width, q_N + 1), expiry(reset, VALUE), at_N,
    length_N + (leases and 2 ^ 47 or 0), unpack(counts_N))
  if leases then value = value .. struct.pack('>I3', leased_N - at_N) end
end

---- reply
start_N, counts_N, leased_N > at_N and leased_N or 0
