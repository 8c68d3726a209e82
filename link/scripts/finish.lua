-- Ends a run whose items are all delivered. Its counts and last results stay for `keep` ms.
-- KEYS[9]: all runs of the stage. ARGV: epoch, name, keep.
local epoch, name, keep = unpack(ARGV)
if not is_near_end(epoch) then
    return stale
end
call('HDEL', run, 'n', 'tries')
call('SREM', KEYS[9], name)
for k = 1, 8 do
    call('PEXPIRE', KEYS[k], keep)
end
return 0
