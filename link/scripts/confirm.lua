-- Notes what the near end has delivered, and removes entries of results before the one named.
-- ARGV: epoch, published, delivered, entry.
local epoch, published, delivered, entry = unpack(ARGV)
if not is_near_end(epoch) then
    return stale
end
if (tonumber(call('HGET', run, 'published')) or 0) < tonumber(published) then
    return lost
end
call('HSET', run, 'delivered', delivered)
if entry ~= '' then
    call('XTRIM', results, 'MINID', entry)
end
return 0
