-- What is stored of the key is read at once. The field `@` says when the hash was created: what was lent or taken before does not
-- go back, as it is not of these counts. It is written anew when the clock was set back since.
local created, bad = nil, 0
if stored[1] then
  created = #stored[1] == 7 and struct.unpack('>I7', stored[1]) or nil
  if not created or created > now + STEP then
    bad = 1
  end
  if created and created > now + LATE then
    created = nil
  end
end
