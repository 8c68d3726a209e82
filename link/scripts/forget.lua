-- Removes a run. KEYS[9]: all runs of the stage. ARGV: name. Returns whether there was one.
call('SREM', KEYS[9], ARGV[1])
return call('DEL', unpack(KEYS, 1, 8))
