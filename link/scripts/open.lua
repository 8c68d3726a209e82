-- Opens a run for a near end.
-- KEYS[9]: all runs of the stage. ARGV: channel, name, n, tries.
-- Returns {epoch, published, delivered}. An epoch is a time, in microseconds, and larger than the one
-- before: so it is also new where the run was removed meanwhile, and its epoch with it.
local channel, name, n, limit = unpack(ARGV)
for k = 1, 8 do
    call('PERSIST', KEYS[k])
end
call('HSET', run, 'n', n, 'tries', limit)
call('SADD', KEYS[9], name)
call('PUBLISH', channel, name)
local at = call('HMGET', run, 'published', 'delivered', 'epoch')
local time = call('TIME')
local epoch = math.max(time[1] * 1000000 + time[2], (tonumber(at[3]) or 0) + 1)
call('HSET', run, 'epoch', epoch)
return { epoch, tonumber(at[1]) or 0, tonumber(at[2]) or 0 }
