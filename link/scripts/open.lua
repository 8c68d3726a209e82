-- Opens a run for a near end that has seen its epoch. So a late request changes nothing if the run
-- was opened since, even by the same near end on its next connection.
-- KEYS[9]: all runs of the stage. ARGV: channel, name, n, tries, seen: the epoch, 0 for a new run.
-- Returns {epoch, published, delivered}; or the epoch alone when it is not the one seen.
-- An epoch is a time in microseconds, and larger than the one seen: so it is new even after the run
-- and its epoch were removed.
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
