-- What the token bucket and the sliding window log have alike: what they have lent, by slots of time: see limiter/leasetest/lease_slots.go.
--
-- ends_N is the end of the current slot, length_N its length in µs, open_N what was lent in it less what came back, before_N
-- the same of the slot before. When nothing is out they are of no use, and not stored.
--
-- reply: the four of them in 20 bytes: end 7, length 3, open 5, before 5; 0 when nothing is out

---- sane
if length_N > LEASE or ends_N > written_N + 4 * LEASE then
  written_N = 0
end

---- turn
-- Makes the next slot the current one.
ends_N, open_N, before_N = ends_N + length_N, 0, open_N

---- begin
-- Makes at_N the time of a loan in slots of the rule's length. Slots of another length are brought to an end first, and the new
-- one begins no earlier than at_N.
do
  local slot = struct.unpack('>I3', ARGV[7 * N + 2], 11)
  if length_N ~= slot or open_N + before_N == 0 then
    local till = at_N - at_N % slot + slot
    if open_N + before_N > 0 then
      till = math.max(at_N + slot, ends_N + length_N)
    end
    ends_N, length_N, open_N, before_N = till, slot, 0, open_N + before_N
  end
end

---- return
-- Takes back up to n of the events that were lent at the instant taken, and makes n how many.
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
