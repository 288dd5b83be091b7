-- What no script of ours has written is taken for nothing, until the next write replaces it, and counted: a value of another length,
-- which has not set written_N, and one from further in the future than a clock is set back.
if VALUE and (written_N == 0 or written_N > now + STEP) then
  bad, VALUE, written_N = bad + 1, '', 0
  <void>
end
