-- What the sliding window log stands on besides.
local FIRST = '(1125899906842624' -- beyond 2^50, where instants are

-- decimal returns an instant as Redis reads it, to the microsecond.
local function decimal(at)
  return string.format('%.0f', at)
end

-- upto returns the number that a member of a log holds.
local function upto(member)
  return #member >= 7 and struct.unpack('>I7', member) or 0
end
