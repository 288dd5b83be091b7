-- The fixed window: the events of the current window of ask.window µs; windows are aligned to the epoch.
--
-- value, 15 bytes: expiry 3; end of the window 7; used 5
-- reply: end of the window, used
do
  local function load(value, ask)
    local window = ask.window
    local s = {at = now, left = ask.capacity, ends = now - now % window + window, used = 0}
    if not value or #value ~= 15 then
      return s
    end
    local _, ends, used = struct.unpack('>I3I7I5', value)
    if now >= ends then
      return s
    end
    s.left, s.used = ask.capacity - used, used -- goes along into a window of another length, or that of a clock that was set back
    local start = ends - window
    if ends % window == 0 and now >= start - LATE then
      s.at, s.ends = math.max(now, start), ends
    else
      s.moved = true
    end
    return s
  end

  local function take(s, ask)
    s.used = s.used + ask.cost
  end

  local function refund(s, ask)
    if ask.taken >= s.ends - ask.window and ask.taken < s.ends then
      s.used = math.max(0, s.used - ask.cost)
    end
  end

  local function save(s)
    if s.used == 0 then
      return nil
    end
    return struct.pack('>I3I7I5', expiry(s.ends), s.ends, s.used), s.ends
  end

  local function reply(s, _, out)
    out[#out + 1] = s.ends
    out[#out + 1] = s.used
  end

  algorithms.fixed_window = {load = load, take = take, refund = refund, save = save, reply = reply}
end
