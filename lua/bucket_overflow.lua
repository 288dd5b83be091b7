-- When a bucket has overflowed while it lent, and what that pays for: see limiter/overflow.go and
-- limiter/leasetest/overflow.go.
--
-- parts_N.overflow is nil if nothing has overflowed. Otherwise it is a list of WINDOWS numbers, the units
-- in which the bucket has overflowed in the newest windows, the newest first; and newest, the number of
-- the newest window. A window has UNITS units.
--
-- value, 12 bytes: the list, as of the newest write

---- overflow_functions
local WINDOWS, UNITS = 12, 255

-- unitOf returns the length of a unit in µs.
local function unitOf(parts) return math.floor(longOf(parts.length) / (24 * UNITS)) end

-- moveOverflow makes the window of the instant at the newest one.
local function moveOverflow(parts, at)
  local old, moved = parts.overflow, {newest = math.floor(at / (UNITS * unitOf(parts)))}
  for i = 1, WINDOWS do moved[i] = old and old[i - moved.newest + old.newest] or 0 end
  parts.overflow = moved
end

-- addOverflow notes that the bucket has overflowed from one instant to another.
local function addOverflow(parts, from, to)
  moveOverflow(parts, to)
  local unit, windows = unitOf(parts), parts.overflow
  for i = 1, WINDOWS do
    local begins = (windows.newest - i + 1) * UNITS * unit
    local us = math.min(to, begins + UNITS * unit) - math.max(from, begins)
    if us > 0 then windows[i] = math.min(UNITS, windows[i] + math.floor(us / unit)) end
  end
end

-- payFor returns for how many µs the bucket has overflowed since events were spent, but at most the
-- time in which it refills as many, and takes that off the overflow. At most `most` events are paid for.
-- The bytes of spends from 91 on say in which windows how many were spent: see lease_request.lua.
local function payFor(parts, spends, most, p, q)
  local windows, unit, us = parts.overflow, unitOf(parts), 0
  local newest = struct.unpack('>I7', spends, 91)
  for i = WINDOWS, 1, -1 do
    local n = math.min(struct.unpack('>I2', spends, 96 + 2 * i), most)
    most = most - n
    local units = math.floor(given(n, q, p) / unit)
    for k = WINDOWS, 1, -1 do
      if windows.newest - k > newest - i then
        local paid = math.min(units, windows[k])
        windows[k], units, us = windows[k] - paid, units - paid, us + paid * unit
      end
    end
  end
  return us
end

---- note_overflow
-- Notes the overflow between the instants from and till. If its parts held nothing, the bucket would lack
-- `lacks` events less `ahead` at the end.
if parts_N and sharesOf(parts_N) == 0 and aside_N == 0 and not charged_N then
  local lost = missing_N - lacks
  if ahead < fraction_N then lost = lost - 1 end
  if lost > 0 then
    addOverflow(parts_N, math.max(from, till - given(math.min(lost, 2 * MOST), q_N, p_N)), till)
  elseif parts_N.overflow then
    moveOverflow(parts_N, till)
  end
end

---- read_overflow
parts_N.overflow = {newest = math.floor(written_N / (UNITS * unitOf(parts_N))), string.byte(VALUE, at, at + WINDOWS - 1)}

---- overflow
string.char(unpack(parts_N.overflow))
