-- Take decides the asks as one: when each of them is allowed, all are consumed; when any is not, none is. A peek decides and
-- consumes nothing.
--
-- returns: for each rule 1 when it allows the take, or 0; 1 when it denies and this is its first denial in a window, or 0; the
--          instant of the decision; and the reply of the algorithm
local allowed = true
for i = 1, #asks do
  local ask = asks[i]
  ask.ok = ask.cost <= ask.state.left
  allowed = allowed and ask.ok
end

local out = {}
for i = 1, #asks do
  local ask = asks[i]
  local breach = 0
  if operation == 'take' then
    if allowed then
      ask.algorithm.take(ask.state, ask)
    elseif not ask.ok then
      -- The field of a rule with a `!` behind says until when a denial is no news.
      local mark = redis.call('HGET', KEYS[1], ask.field .. '!')
      local quiet = mark and select(2, struct.unpack('>I3I7', mark)) or 0
      if now >= quiet or quiet > now + ask.window + LATE then -- or it is from before the clock was set back
        breach, quiet = 1, math.min(now + ask.window, LAST)
        redis.call('HSET', KEYS[1], ask.field .. '!', struct.pack('>I3I7', expiry(quiet), quiet))
        keep(KEYS[1], quiet)
      end
    end
    ask.changed = allowed or ask.state.moved
  end
  out[#out + 1] = ask.ok and 1 or 0
  out[#out + 1] = breach
  out[#out + 1] = ask.state.at
  ask.algorithm.reply(ask.state, ask, out)
end
