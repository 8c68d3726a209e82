-- Opens a run for a near end that has seen its epoch. So a request that comes late changes nothing
-- once the run was opened since, also by the same near end on its next connection.
-- KEYS[9]: all runs of the stage. ARGV: channel, name, n, tries, seen: the epoch, 0 for a new run.
-- Returns {epoch, published, delivered}; or the epoch alone when it is another than the one seen.
-- An epoch is a time, in microseconds, and larger than the one before: so it is also new where the
-- run was removed meanwhile, and its epoch with it.
local channel, name, n, limit, seen = unpack(ARGV)
local at = call('HMGET', run, 'published', 'delivered', 'epoch')
if seen ~= (at[3] or '0') then
    return tonumber(at[3]) or 0
end
for k = 1, 8 do
    call('PERSIST', KEYS[k])
end
call('HSET', run, 'n', n, 'tries', limit)
call('SADD', KEYS[9], name)
call('PUBLISH', channel, name)
local time = call('TIME')
local epoch = math.max(time[1] * 1000000 + time[2], tonumber(seen) + 1)
call('HSET', run, 'epoch', epoch)
return { epoch, tonumber(at[1]) or 0, tonumber(at[2]) or 0 }
