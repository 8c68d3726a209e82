-- What every script begins with. The engine runs a script alone: nothing comes between its calls.
--
-- What the engine has of a run (keys.h names the keys):
--   run      epoch: when it was opened; published, delivered: counts of items; n, tries: while
--            it is open
--   items    index → bytes, of items that have no result yet
--   queue    indexes that nobody has, next first
--   leases   index → when its lease ends, in milliseconds of the engine's clock: n at most
--   owners   index → the far end that has the lease. Its name has more than 64 bytes: so the engine
--            keeps a table, and no list that it searches from the beginning
--   tries    index → how often it has failed or was lost, if it has
--   results  a stream. The fields of an entry are items: the name is the index, and after a colon
--            the status, if that is not 0; the value has the bytes
--   waiting  far end → its lease in milliseconds, a number (far.h), and how many items it would
--            take more than there were
-- Invariant: an index that was published and has no result is either in `queue`, or in `leases` and
-- `owners`. So each gets one result.
local run, items, queue, leases, owners, tries, results, waiting = unpack(KEYS)
local call = redis.call

-- Lets far ends that wait ask again: a few items, and as many far ends; for more, all. One that has no
-- place when it hears of it passes it on (take). It is lost with a far end that dies just then: the
-- others look by themselves four times in a lease.
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

local function is_near_end(epoch)
    return call('HGET', run, 'epoch') == epoch
end
local lost = { err = 'LOST the engine has lost items that it had been given' }
local stale = { err = 'STALE the run was opened again, or removed' }

-- Takes the lease of an item away. Once tried often enough it fails, else it waits again.
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

-- Puts results into the stream. Names and values take turns.
local function store(fields)
    if #fields > 0 then
        call('XADD', results, '*', unpack(fields))
    end
end
