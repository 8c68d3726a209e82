-- Renews the leases of a far end. After a lost connection the far end lists all items that it has.
-- Any other item that it owns here was in a lost answer, and is queued again. A far end that ends
-- gives everything back by an empty list.
-- ARGV: channel, name, far end, lease in milliseconds, all: 1 if these are all; then indexes.
-- Returns the indexes that are not the far end's any more.
local channel, name, far_end, lease, all = unpack(ARGV, 1, 5)
local lost, kept = {}, {}
need_no_memory()
local time = call('TIME')
local ends_at = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000) + lease)

local function renew(from, to)
    local ends = {}
    for i, owner in ipairs(call('HMGET', owners, unpack(ARGV, from, to))) do
        local index = ARGV[from + i - 1]
        if owner == far_end then
            kept[index] = true
            ends[#ends + 1] = ends_at
            ends[#ends + 1] = index
        else
            lost[#lost + 1] = index
        end
    end
    if #ends > 0 then
        call('ZADD', leases, unpack(ends))
    end
end

-- The far end may have been woken for an item that it will not take any more: wakes others.
local function give_back_others()
    local has = call('HGETALL', owners)
    for i = 1, #has, 2 do
        local index = has[i]
        if has[i + 1] == far_end and not kept[index] then
            call('HDEL', owners, index)
            call('ZREM', leases, index)
            call('LPUSH', queue, index)
        end
    end
    call('HDEL', waiting, far_end)
    call('HDEL', run, handed(far_end))
    local count = call('LLEN', queue)
    if count > 0 then
        wake(channel, name, count)
    end
end

for from = 6, #ARGV, 1000 do
    renew(from, math.min(from + 999, #ARGV))
end
if all == '1' then
    give_back_others()
end
return lost
