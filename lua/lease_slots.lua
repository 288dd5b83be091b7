-- The leases of the sliding window log, by slots of time: see limiter/leasetest/lease_slots.go.
--
-- ends_N is the end of the current slot and length_N its length in µs. open_N is the number of events
-- granted in it less those returned, and before_N is that number for the slot before. Without open
-- leases they are not stored.
--
-- reply: the four numbers in 20 bytes: end 7, length 3, open 5, before 5; 0 without open leases

---- check_slots
if length_N > LEASE or ends_N > written_N + 4 * LEASE then written_N = 0 end

---- rotate
-- Makes the next slot the current one.
ends_N, open_N, before_N = ends_N + length_N, 0, open_N

---- open_slot
-- Makes the current slot one of the rule's length that does not end before at_N. If leases are open in
-- slots of another length, the new slot begins no earlier than at_N, and ends no earlier than those
-- leases.
do
  local slot = struct.unpack('>I4', ARGV[7 * N + 2], 11)
  if length_N ~= slot or open_N + before_N == 0 then
    local till = at_N - at_N % slot + slot
    if open_N + before_N > 0 then till = math.max(at_N + slot, ends_N + length_N) end
    ends_N, length_N, open_N, before_N = till, slot, 0, open_N + before_N
  end
end

---- close
-- Removes up to n of the events granted at the instant taken, and sets n to their number.
if taken >= ends_N or taken < ends_N - 2 * length_N then
  n = 0
elseif taken < ends_N - length_N then
  n = math.min(n, before_N)
  before_N = before_N - n
else
  n = math.min(n, open_N)
  open_N = open_N - n
end

---- slots
open_N + before_N > 0 and struct.pack('>I7I3I5I5', ends_N, length_N, open_N, before_N) or 0
