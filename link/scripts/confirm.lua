-- Records how many items the near end has delivered, and removes the entries of results before
-- `entry`. A late request, from a connection that was given up, changes nothing.
-- ARGV: epoch, published, delivered, entry.
local epoch, published, delivered, entry = unpack(ARGV)
if not is_near_end(epoch) then
    return stale
end
if (tonumber(call('HGET', run, 'published')) or 0) < tonumber(published) then
    return lost
end
if tonumber(delivered) > (tonumber(call('HGET', run, 'delivered')) or 0) then
    call('HSET', run, 'delivered', delivered)
end
if entry ~= '' then
    call('XTRIM', results, 'MINID', entry)
end
return 0
