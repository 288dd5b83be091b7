-- Refund gives back events that were taken: into the windows that they came from, or nowhere when those have passed.
--
-- returns: nothing
local out = false
for i = 1, #asks do
  asks[i].algorithm.refund(asks[i].state, asks[i])
  asks[i].changed = true
end
