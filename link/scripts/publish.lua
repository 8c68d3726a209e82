-- Gives items to the run, or one that has failed already. May be sent twice.
-- ARGV: channel, name, epoch, index of the first, status, then the items' bytes.
-- Returns how many are published.
local channel, name, epoch, first, status = unpack(ARGV, 1, 5)
local at = call('HMGET', run, 'epoch', 'published')
if at[1] ~= epoch then
    return stale
end
local published = tonumber(at[2]) or 0
if tonumber(first) > published then
    return lost
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
    call('RPUSH', queue, unpack(indexes))
    wake(channel, name, #indexes)
else
    store({ indexes[1] .. ':' .. status, '' })
end
published = first + #ARGV - 5
call('HSET', run, 'published', published)
return published
