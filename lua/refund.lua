-- Refund gives back what takes have consumed. This part runs for each rule. Its last argument is
-- what was used right after the take: the number of events 5, the instant 7.
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
