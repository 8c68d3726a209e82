-- Stores results of a far end, and ends their leases. Skips an item that is not the far end's any
-- more, so a result may be sent twice. If a far end has lost an item and got it again, it may have
-- two results of it: the first counts.
-- Wakes others, which may have waited for a free lease; but not if this far end takes items of the
-- run next, in the same request: then take wakes them if it leaves some.
-- ARGV: channel, name, far end, takes: 1 if it takes next; then index, status, bytes of each.
local channel, name, far_end, takes = unpack(ARGV, 1, 4)
local limit
local indexes = {}
for a = 5, #ARGV, 3 do
    indexes[#indexes + 1] = ARGV[a]
end
local has = call('HMGET', owners, unpack(indexes))
local mine, fields, counted = {}, {}, {}
for i, index in ipairs(indexes) do
    if has[i] == far_end and not counted[index] then
        counted[index] = true
        local status = ARGV[3 * i + 3]
        if status == '0' then
            mine[#mine + 1] = index
            fields[#fields + 1] = index
            fields[#fields + 1] = ARGV[3 * i + 4]
        else
            limit = limit or tonumber(call('HGET', run, 'tries'))
            try_again(index, status, limit, fields)
        end
    end
end
if #mine > 0 then
    call('HDEL', items, unpack(mine))
    call('HDEL', owners, unpack(mine))
    call('HDEL', tries, unpack(mine))
    call('ZREM', leases, unpack(mine))
end
store(fields)
local count = takes ~= '1' and call('LLEN', queue) or 0
if count > 0 then
    wake(channel, name, count)
end
return #fields / 2
