-- The sliding window log: every event of the last ask.window µs, in the sorted set KEYS[ask[1]].
--
-- An instant at which events were taken is a member of 7 bytes: how many there were up to and with it since some
-- beginning, modulo M. Its score is the instant. The score of the member `gone` is that number for what has left the log.
-- So the events between any two members are a difference, and old ones are dropped without being looked at.
--
-- reply: the events in the window, and the instant of the newest; an earlier instant with the number of events up to it, or
--   0 and 0: after a take the newest instant before it, on a denial the one at which enough events are gone
do
  local M = 2 ^ 50 -- below every instant, so that `gone` is the first of the set
  local FIRST = '(' .. string.format('%.0f', M)

  local function upto(member)
    return (struct.unpack('>I7', member))
  end

  local function add(s, at, number)
    redis.call('ZADD', s.key, string.format('%.0f', at), struct.pack('>I7', number % M))
  end

  local function load(_, ask)
    local s = {key = KEYS[ask[1]], at = now, left = ask.capacity, back = 0, used = 0, upto = 0, gone = 0}
    local last = redis.call('ZRANGE', s.key, '+inf', FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
    if not last[1] then
      return s
    end
    s.newest, s.upto = tonumber(last[2]), upto(last[1])
    if now < s.newest - LATE then
      s.back, s.moved = s.newest - now, true -- the clock was set back, and so is the log
    else
      s.at = math.max(now, s.newest)
    end
    s.cutoff = string.format('%.0f', s.at + s.back - ask.window)
    local left = redis.call('ZRANGE', s.key, s.cutoff, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
    s.gone = left[1] and upto(left[1]) or tonumber(redis.call('ZSCORE', s.key, 'gone') or 0)
    s.used = (s.upto - s.gone) % M
    s.left = ask.capacity - s.used
    s.newest = s.newest - s.back
    return s
  end

  -- settle lets go of what is no longer in the window, and moves the rest when the clock was set back.
  local function settle(s, ask)
    if s.settled then
      return
    end
    s.settled = true
    if not s.newest then
      return
    end
    redis.call('ZREMRANGEBYSCORE', s.key, FIRST, s.cutoff)
    redis.call('ZADD', s.key, string.format('%.0f', s.gone), 'gone')
    if s.back > 0 then
      local moved = redis.call('ZRANGE', s.key, FIRST, '+inf', 'BYSCORE', 'WITHSCORES')
      for i = 1, #moved, 2 do
        redis.call('ZADD', s.key, string.format('%.0f', moved[i + 1] - s.back), moved[i])
      end
      s.back, s.cutoff = 0, string.format('%.0f', s.at - ask.window)
    end
  end

  local function take(s, ask)
    settle(s, ask)
    s.first, s.events = s.newest, s.used
    if s.newest == s.at and s.used > 0 then
      redis.call('ZREM', s.key, struct.pack('>I7', s.upto))
    end
    s.upto, s.used, s.newest = (s.upto + ask.cost) % M, s.used + ask.cost, s.at
    add(s, s.at, s.upto)
  end

  -- refund gives back the oldest events from ask.taken on, up to LATE later: those of a late reading were noted as of the
  -- newest one. What stays in the log leaves it no earlier.
  local function refund(s, ask)
    settle(s, ask)
    local from = string.format('%.0f', ask.taken)
    local earlier = redis.call('ZRANGE', s.key, '(' .. from, FIRST, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
    local entries = redis.call('ZRANGE', s.key, from, '+inf', 'BYSCORE', 'WITHSCORES')
    local before, back = earlier[1] and upto(earlier[1]) or s.gone, 0
    for i = 1, #entries, 2 do
      local number, at = upto(entries[i]), tonumber(entries[i + 1])
      local events = (number - before) % M
      before = number
      if at <= ask.taken + LATE then
        local give = math.min(events, ask.cost - back)
        back, events = back + give, events - give
      end
      redis.call('ZREM', s.key, entries[i])
      if events > 0 then
        add(s, at, number - back)
      end
    end
    s.used = s.used - back
  end

  local function save(s, ask)
    settle(s, ask)
    if s.used == 0 then
      redis.call('DEL', s.key)
      return nil
    end
    local reset = s.newest + ask.window
    keep(s.key, reset)
    return nil, reset
  end

  -- find sets the instant at which so many events are gone: binary search by rank.
  local function find(s, leave)
    local low, high = redis.call('ZCOUNT', s.key, '-inf', s.cutoff), redis.call('ZCARD', s.key) - 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if (upto(redis.call('ZRANGE', s.key, middle, middle)[1]) - s.gone) % M >= leave then
        high = middle
      else
        low = middle + 1
      end
    end
    local member = redis.call('ZRANGE', s.key, low, low, 'WITHSCORES')
    s.first, s.events = tonumber(member[2]) - s.back, (upto(member[1]) - s.gone) % M
  end

  local function reply(s, ask, out)
    if not ask.ok and ask.cost <= ask.capacity then
      find(s, s.used - (ask.capacity - ask.cost))
    end
    out[#out + 1] = s.used
    out[#out + 1] = s.newest or 0
    out[#out + 1] = s.first or 0
    out[#out + 1] = s.first and s.events or 0
  end

  algorithms.sliding_window_log = {load = load, take = take, refund = refund, save = save, reply = reply}
end
