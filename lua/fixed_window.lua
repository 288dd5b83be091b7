-- The fixed window: the events of the current window of window_N µs; windows are aligned to the epoch.
--
-- value, 15 bytes: expiry 3; end of the window 7; used 5
-- reply: end of the window, used

---- load
local ends_N, used_N = now - now % window_N + window_N, 0
if value_N and #value_N == 15 then
  local _, ends, used = struct.unpack('>I3I7I5', value_N)
  if now < ends then -- what is used goes along into a window of another length, or that of a clock that was set back
    used_N, left_N = used, capacity_N - used
    local start = ends - window_N
    if ends % window_N == 0 and now >= start - LATE then
      at_N, ends_N = math.max(now, start), ends
    else
      changed_N = true
    end
  end
end

---- left
left_N = capacity_N - used_N

---- consume
used_N = used_N + n

---- refund
if taken >= ends_N - window_N and taken < ends_N then
  used_N = math.max(0, used_N - n)
end

---- raise
if taken >= ends_N - window_N and taken < ends_N then
  used_N = math.max(used_N, n)
end

---- save
if used_N > 0 then
  reset = ends_N
  value = struct.pack('>I3I7I5', expiry(reset), ends_N, used_N)
end

---- reply
ends_N, used_N
