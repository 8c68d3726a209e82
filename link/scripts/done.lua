-- Stores results of a far end, and frees their leases. An item that is not the far end's any more
-- is passed over, so a result may be sent twice.
-- ARGV: far end, then index, status, bytes of each.
local far_end = ARGV[1]
local limit = tonumber(call('HGET', run, 'tries'))
local indexes = {}
for a = 2, #ARGV, 3 do
    indexes[#indexes + 1] = ARGV[a]
end
local has = call('HMGET', owners, unpack(indexes))
local mine, fields = {}, {}
for i, index in ipairs(indexes) do
    if has[i] == far_end then
        local status = ARGV[3 * i]
        if status == '0' then
            mine[#mine + 1] = index
            fields[#fields + 1] = index
            fields[#fields + 1] = ARGV[3 * i + 1]
        else
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
return #fields / 2
