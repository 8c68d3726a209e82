-- Notes what the near end has delivered, and removes entries of results before the one named. A
-- request of a connection that was given up may come after later ones: it changes nothing.
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
