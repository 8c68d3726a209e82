-- Opens a run for a near end.
-- KEYS[9]: all runs of the stage. ARGV: channel, name, n, tries.
-- Returns {epoch, published, delivered}.
local channel, name, n, limit = unpack(ARGV)
for k = 1, 8 do
    call('PERSIST', KEYS[k])
end
call('HSET', run, 'n', n, 'tries', limit)
call('SADD', KEYS[9], name)
call('PUBLISH', channel, name)
local at = call('HMGET', run, 'published', 'delivered')
return { call('HINCRBY', run, 'epoch', 1), tonumber(at[1]) or 0, tonumber(at[2]) or 0 }
