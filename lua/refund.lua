-- Refund gives back what was taken.
do
  local n, taken = cost_N, tonumber(ARGV[7 * N + 2])
  <settle>
  <refund>
  local value, reset
  <save>
  <write>
end
