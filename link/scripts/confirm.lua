-- Records how many items the near end has delivered, and removes the entries of results before
-- `entry`. A late request, from a connection that was given up, changes nothing.
-- ARGV: epoch, published, delivered, entry; and after a lost connection `read`: the last entry that
-- the near end has read. The engine keeps it until the near end has read another.
local epoch, published, delivered, entry, read = unpack(ARGV)
if not is_near_end(epoch) then
    return stale
end
if (tonumber(call('HGET', run, 'published')) or 0) < tonumber(published) then
    return lost
end
if read and #call('XRANGE', results, read, read) == 0 then
    return lost
end
need_no_memory()
if tonumber(delivered) > (tonumber(call('HGET', run, 'delivered')) or 0) then
    call('HSET', run, 'delivered', delivered)
end
if entry ~= '' then
    call('XTRIM', results, 'MINID', entry)
end
return 0
