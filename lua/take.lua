-- Take decides the asks as one: when each of them is allowed, all are consumed; when any is not, none is. With `peek` in
-- place of `take` it decides and consumes nothing.
--
-- KEYS and ARGV: as in ask.lua, with `take` or `peek` as ARGV[2] and the rules from ARGV[3] on
-- returns: for each rule 1 when it allows the take, or 0; 1 when it denies and this is its first denial in a window, or 0; the
--          instant of the decision; and the reply of the algorithm

-- breach reports whether a denial is the first in a window: the field of a rule with a `!` behind says until when it is not.
local function breach(ask)
  local field = ask.field .. '!'
  local mark = redis.call('HGET', KEYS[1], field)
  if mark then
    local _, quiet = struct.unpack('>I3I7', mark)
    if now < quiet and quiet <= now + ask.window + LATE then -- else it is from before the clock was set back
      return 0
    end
  end
  local quiet = math.min(now + ask.window, LAST)
  redis.call('HSET', KEYS[1], field, struct.pack('>I3I7', expiry(quiet), quiet))
  keep(KEYS[1], quiet)
  return 1
end

local asks, allowed, takes = load(3), true, ARGV[2] == 'take'
for _, ask in ipairs(asks) do
  ask.ok = ask.algorithm.fits(ask.state, ask)
  allowed = allowed and ask.ok
end
if takes then
  local changed = {}
  for _, ask in ipairs(asks) do
    if allowed then
      ask.algorithm.take(ask.state, ask)
    end
    if allowed or ask.state.moved then
      changed[#changed + 1] = ask
    end
  end
  save(changed)
end

local out = {}
for _, ask in ipairs(asks) do
  out[#out + 1] = ask.ok and 1 or 0
  out[#out + 1] = takes and not ask.ok and breach(ask) or 0
  out[#out + 1] = ask.state.at
  ask.algorithm.reply(ask.state, ask, out)
end
return out
