-- Adds items to the run, or one item that has failed already. The request may be sent twice.
-- A lone item is sent to a far end that waits, and its lease begins here: it needs no take.
-- ARGV: channel, name, epoch, index of the first, status, then the items' bytes.
-- Returns how many items are published in all.
local channel, name, epoch, first, status = unpack(ARGV, 1, 5)
local at = call('HMGET', run, 'epoch', 'published', 'n')
if at[1] ~= epoch then
    return stale
end
local published = tonumber(at[2]) or 0
if tonumber(first) > published then
    return lost
end

-- An engine may cut off a listener that has many bytes to read, so a large item waits for a take.
local function hand_over(index, bytes)
    if not at[3] or #bytes > 16384 or call('ZCARD', leases) >= tonumber(at[3]) then
        return false
    end
    while true do
        local far_end, word = unpack(call('HRANDFIELD', waiting, 1, 'WITHVALUES'))
        if not far_end then
            return false
        end
        local lease, number, places = string.match(word, '(%S+) (%S+) (%S+)')
        local news = name .. ' ' .. number .. ' ' .. index .. ' ' .. bytes
        local is_heard = call('PUBLISH', channel .. ':' .. far_end, news) > 0
        if is_heard and places ~= '1' then
            call('HSET', waiting, far_end, lease .. ' ' .. number .. ' ' .. places - 1)
        else
            call('HDEL', waiting, far_end)
        end
        if is_heard then
            local time = call('TIME')
            local ends_at = time[1] * 1000 + math.floor(time[2] / 1000) + lease
            call('ZADD', leases, string.format('%d', ends_at), index)
            call('HSET', owners, index, far_end)
            call('HINCRBY', run, handed(far_end), 1)
            return true
        end
    end
end

local indexes, fields = {}, {}
for a = 6, #ARGV do
    local number = first + a - 6
    if number >= published then
        local index = string.format('%d', number)
        indexes[#indexes + 1] = index
        fields[#fields + 1] = index
        fields[#fields + 1] = ARGV[a]
    end
end
if #indexes == 0 then
    return published
end
if status == '0' then
    call('HSET', items, unpack(fields))
    if #indexes > 1 or not hand_over(indexes[1], fields[2]) then
        call('RPUSH', queue, unpack(indexes))
        wake(channel, name, #indexes)
    end
else
    store({ indexes[1] .. ':' .. status, '' })
end
published = first + #ARGV - 5
call('HSET', run, 'published', published)
return published
