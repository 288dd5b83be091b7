-- Refund gives back what takes have consumed. This part runs for each rule. The last argument of a rule
-- is what was used right after the take: the number of events in 5 bytes, and the instant in 7.
do
  local n, seen, taken = cost_N, struct.unpack('>I5I7', ARGV[7 * N + 2])
  local lacked = math.max(n, seen)
  if <valid> then
    <trim>
    <refund>
    local value, reset
    <save>
    <write>
  end
end
