-- Refund gives back what was taken. The last of the seven of a rule is what was used right after that, at the instant of the
-- take: how many events 5, the instant 7.
do
  local n, seen, taken = cost_N, struct.unpack('>I5I7', ARGV[7 * N + 2])
  local lacked = math.max(n, seen)
  if <ours> then
    <settle>
    <refund>
    local value, reset
    <save>
    <write>
  end
end
