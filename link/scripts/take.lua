-- Takes items for a far end, up to its places and the run's n. First queues items again whose lease
-- has ended; but not soon after the engine has started, while far ends are still coming back.
-- A far end without a place calls this to wake another one instead.
-- ARGV: channel, name, far end, places, lease in milliseconds, look: 1 to look for ended leases,
-- bytes: takes no more items after that many; number (far.h); received: how many lone items have
-- come to the far end since its last renewal of all. Others are on their way, and need places.
-- Returns nothing if the run is over; else {index, tries, bytes, index, …}.
local channel, name, far_end, places, lease, look, most_bytes, number, received = unpack(ARGV)
local spec = call('HMGET', run, 'n', 'tries', handed(far_end))
if not spec[1] then
    call('HDEL', run, handed(far_end))
    return false
end
need_no_memory()
places = math.max(places - math.max((spec[3] or 0) - received, 0), 0)

local function wait(count)
    if count > 0 then
        call('HSET', waiting, far_end, lease .. ' ' .. number .. ' ' .. count)
    else
        call('HDEL', waiting, far_end)
    end
end

local waits = call('LLEN', queue)
if waits == 0 and look ~= '1' then
    wait(places)
    return {}
end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function engine_is_new()
    local uptime = string.match(call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
    return tonumber(uptime) * 1000 < tonumber(lease)
end

if look == '1' then
    local ended = call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, 1000)
    if #ended > 0 and not engine_is_new() then
        local failed = {}
        for e = #ended, 1, -1 do
            call('HDEL', waiting, call('HGET', owners, ended[e])) -- it gets no lone item, either
            try_again(ended[e], -130, tonumber(spec[2]), failed) -- EOWNERDEAD
        end
        store(failed)
        waits = call('LLEN', queue)
    end
end

local free = spec[1] - call('ZCARD', leases)
local most = math.min(places, free)
local indexes = most > 0 and call('LPOP', queue, most) or {}
local taken = {}

-- Returns the bytes of the first items and their number, and leaves only their indexes. A script
-- copies what it reads: so this reads a large item alone, and many small ones at once.
local function read_items()
    local bytes, size = {}, 0
    while #bytes < #indexes and size < tonumber(most_bytes) do
        local to = math.min(4 * #bytes + 1, #indexes)
        for _, item in ipairs(call('HMGET', items, unpack(indexes, #bytes + 1, to))) do
            if size < tonumber(most_bytes) then
                bytes[#bytes + 1] = item
                size = size + #(item or '')
            end
        end
    end
    while #indexes > #bytes do
        call('LPUSH', queue, table.remove(indexes))
    end
    return bytes, size
end

-- While a large answer is on its way, the far end renews nothing: for each `most_bytes` of it, all
-- leases of the far end last a lease.
local function stretch_leases(size)
    local ends_at = string.format('%d', now + lease * math.floor(size / most_bytes))
    local has = call('HGETALL', owners)
    for i = 1, #has, 2 do
        if has[i + 1] == far_end then
            call('ZADD', leases, ends_at, has[i])
        end
    end
end

if #indexes > 0 then
    local bytes, size = read_items()
    local tried = call('HMGET', tries, unpack(indexes))
    local ends_at, ends, mine = string.format('%d', now + lease), {}, {}
    for i, index in ipairs(indexes) do
        ends[2 * i - 1], ends[2 * i] = ends_at, index
        mine[2 * i - 1], mine[2 * i] = index, far_end
        taken[3 * i - 2], taken[3 * i - 1], taken[3 * i] = index, tried[i] or 0, bytes[i]
    end
    call('ZADD', leases, unpack(ends))
    call('HSET', owners, unpack(mine))
    if size >= 2 * most_bytes then
        stretch_leases(size)
    end
end
local left = math.min(waits, free) - #indexes
if left > 0 then
    wake(channel, name, left)
end
wait(left > 0 and 0 or places - #indexes)
return taken
