-- The fixed window: the events of the current window of window_N µs. Windows are aligned to the
-- epoch.
--
-- value, 19 bytes: expiry 3; end of the window 4, in µs since the start of the unit before the
--   expiry; instant of the newest write 7; used 5. While leases are open, 3 bytes more: the expiry of
--   the last lease, in µs since that write
-- reply: end of the window; used; the expiry of the last lease

---- read
local ends_N, used_N, leased_N = 0, 0, 0
if VALUE and (#VALUE == 19 or #VALUE == 22) then
  local unit
  unit, ends_N, written_N, used_N = struct.unpack('>I3I4I7I5', VALUE)
  ends_N = (unit - 1) * UNIT + ends_N
  leased_N = #VALUE == 22 and written_N + struct.unpack('>I3', VALUE, 20) or 0
end

---- clear
ends_N, used_N, leased_N = 0, 0, 0

---- advance
at_N = math.max(now, written_N)
if now < written_N - LATE then at_N, changed_N = now, true end
if at_N >= ends_N then used_N = 0 end
if ends_N % window_N ~= 0 or at_N >= ends_N or at_N < ends_N - window_N then
  -- A window of another length, or of a clock that was set back, keeps what is used.
  changed_N = changed_N or used_N > 0
  ends_N = at_N - at_N % window_N + window_N
end
leased_N = leased_N > written_N and math.min(leased_N, at_N + LEASE) or 0
<left>

---- left
left_N = capacity_N - used_N

---- consume
used_N = used_N + n

---- grant
<consume>
leased_N = math.min(ends_N, at_N + LEASE)

---- refund
if taken >= ends_N - window_N and taken < ends_N then used_N = math.max(0, used_N - n) end

---- quota
used_N = math.max(0, used_N - n)

---- restore
used_N = math.max(used_N, n)

---- reset
reset = used_N > 0 and ends_N or at_N

---- save
reset = ends_N
if used_N > 0 or VALUE and ends_N > now then
  local unit = expiry(reset)
  value = struct.pack('>I3I4I7I5', unit, ends_N - (unit - 1) * UNIT, at_N, used_N)
  if leased_N > at_N then value = value .. struct.pack('>I3', leased_N - at_N) end
end

---- reply
ends_N, used_N, leased_N > at_N and leased_N or 0
