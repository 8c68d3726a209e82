-- Notes what the near end has delivered, and removes entries of results before the one named.
-- ARGV: epoch, delivered, entry.
local epoch, delivered, entry = unpack(ARGV)
if not is_near_end(epoch) then
    return stale
end
call('HSET', run, 'delivered', delivered)
if entry ~= '' then
    call('XTRIM', results, 'MINID', entry)
end
return 0
