-- Refund gives back events that were taken: into the windows that they came from, or nowhere when those have passed.
--
-- KEYS and ARGV: as in ask.lua, with the rules from ARGV[2] on
-- returns: nothing
local asks = load(2)
for _, ask in ipairs(asks) do
  ask.algorithm.refund(ask.state, ask)
end
save(asks)
