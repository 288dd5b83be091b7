-- muldiv returns floor(a * b / c) and the remainder, exactly, for integers 0 <= a < 2^52 and
-- 0 <= b <= c < 2^50. It divides a product beyond 2^53 digit by digit of a, as on paper.
local function muldiv(a, b, c)
  local product = a * b
  if product < 2 ^ 53 then
    local rest = product % c
    return (product - rest) / c, rest
  end
  local _, bits = math.frexp(c)
  local base = 2 ^ (52 - bits) -- so that neither rest * base nor digit * b is above 2^52
  local digits = {}
  while a > 0 do
    local digit = a % base
    digits[#digits + 1] = digit
    a = (a - digit) / base
  end
  local quotient, rest = 0, 0
  for i = #digits, 1, -1 do
    local dividend = rest * base + digits[i] * b
    rest = dividend % c
    quotient = quotient * base + (dividend - rest) / c
  end
  return quotient, rest
end
