-- The beginning of every script. No other command runs between the calls of a script.
--
-- What the engine has of a run (keys.h names the keys):
--   run      epoch: when it was opened; published, delivered: counts of items; n, tries: while
--            it is open; handed and a far end: how many lone items that was sent (publish), since
--            its last renewal of all that it has
--   items    index → bytes, of items that have no result yet
--   queue    indexes without a lease, next first
--   leases   index → when its lease ends, in milliseconds of the engine's clock; n indexes at most
--   owners   index → the id of the far end that has the lease. An id has more than 64 bytes: so the
--            engine keeps a hash table, and not a list that it searches from the beginning
--   tries    index → how often it has failed or was lost; absent: never
--   results  a stream. Each field of an entry is an item: its name is the index, with a colon and
--            the status if that is not 0; its value is the bytes of the result
--   waiting  far end → its lease in milliseconds, its number (far.h), and how many more items it
--            would take
-- Invariant: an index that was published and has no result is either in `queue`, or in `leases` and
-- `owners`. So each gets one result.
local run, items, queue, leases, owners, tries, results, waiting = unpack(KEYS)
local call = redis.call

-- Wakes far ends that wait, so that they take items: one for each item, or all for more than 8
-- items. A far end that has no place by then wakes another (take). If it dies, the wake-up is lost:
-- the others look by themselves four times in a lease.
local function wake(channel, name, count)
    if count > 8 or (count > 1 and count >= call('HLEN', waiting)) then
        if call('DEL', waiting) == 1 then
            call('PUBLISH', channel, name)
        end
        return
    end
    while count > 0 do
        local far_end = call('HRANDFIELD', waiting)
        if not far_end then
            return
        end
        call('HDEL', waiting, far_end)
        count = count - call('PUBLISH', channel .. ':' .. far_end, name) -- 0: it is gone
    end
end

-- An engine whose memory is full refuses a script's first write, if it may need memory, and so the
-- whole script. Scripts that make room, or keep what there is, begin with a write that needs none.
local function need_no_memory()
    call('HDEL', run, '')
end

local function handed(far_end)
    return 'handed ' .. far_end
end

local function is_near_end(epoch)
    return call('HGET', run, 'epoch') == epoch
end
local lost = { err = 'LOST the engine has lost items that it had been given' }
local stale = { err = 'STALE the run was opened again, or removed' }

-- Ends the lease of an item. After `limit` tries the item fails, before that it is queued again.
local function try_again(index, status, limit, failed)
    call('HDEL', owners, index)
    call('ZREM', leases, index)
    if call('HINCRBY', tries, index, 1) < limit then
        call('LPUSH', queue, index)
    else
        call('HDEL', items, index)
        call('HDEL', tries, index)
        failed[#failed + 1] = index .. ':' .. status
        failed[#failed + 1] = ''
    end
end

-- Puts results into the stream. `fields` has names and values in turn.
local function store(fields)
    if #fields > 0 then
        call('XADD', results, '*', unpack(fields))
    end
end
